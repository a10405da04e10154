"""Everything that can go wrong for a reason the user can act on.

The tree:

    QmdError
    ├── UsageError          what was typed cannot be understood
    ├── ConfigError         a settings file says something impossible
    ├── IndexFault          the index is missing, damaged, locked or of another version
    │   ├── IndexMissing
    │   └── IndexUnusable
    │       └── Busy        ... because another process is at work on it
    ├── NotFound            a collection, note or section of that name does not exist
    │   └── Ambiguous       ... or there are several
    ├── ModelMissing        a model is needed that is not here, or has nothing to say
    │   └── NotPulled       ... because it was not fetched yet
    ├── ModelFailed         a model or its file broke down
    │   └── ServerFailed    ... or the server that runs it cannot be used
    ├── PolicyUnknown       what may be used as evidence is not known
    ├── Refused             ... or is known, and this may not
    ├── DownloadFailed      a model's file cannot be fetched
    └── FileUnreadable      a file or folder cannot be read as a note
        └── NotText         ... because it holds no text

Messages are one line, lower case: what happened, a colon, what to do.
"""


class QmdError(Exception):
    """Base of all errors that are told to the user as one line, exit status 2."""


class UsageError(QmdError):
    """What was typed cannot be understood."""


class ConfigError(QmdError):
    """A settings file or variable says something impossible."""


class IndexFault(QmdError):  # noqa: N818 — reads as what happened
    """The index cannot serve this command."""


class IndexMissing(IndexFault):
    """There is no index file yet."""


class IndexUnusable(IndexFault):
    """The index file is damaged, locked, or written by another version."""


class Busy(IndexUnusable):
    """Another process is at work on the index."""


class NotFound(QmdError):  # noqa: N818 — reads as what happened
    """No collection, note or section of that name."""


class Ambiguous(NotFound):
    """The name fits more than one collection, note or section."""


class ModelMissing(QmdError):  # noqa: N818 — reads as what happened
    """A model is needed that is not here, or has nothing to say."""


class NotPulled(ModelMissing):
    """The model is known, and its file was not fetched yet."""


class ModelFailed(QmdError):  # noqa: N818 — reads as what happened
    """A model file is damaged or unfit, or the model broke down at work."""


class PolicyUnknown(QmdError):  # noqa: N818 — reads as what happened
    """There is no policy, or it cannot be read; so nothing may be used as evidence."""


class Refused(QmdError):  # noqa: N818 — reads as what happened
    """The policy does not let this reader use what was asked for."""


class ServerFailed(ModelFailed):
    """The server that runs a model cannot be reached, refuses, or does not answer as it should."""


class DownloadFailed(QmdError):  # noqa: N818 — reads as what happened
    """A model's file cannot be fetched, or what came is not it."""


class FileUnreadable(QmdError):  # noqa: N818 — reads as what happened
    """A file or folder cannot be read."""


class NotText(FileUnreadable):
    """The file holds something other than text."""
