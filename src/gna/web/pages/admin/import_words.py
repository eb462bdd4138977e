"""What the pages of imports call things."""

from gna.subscribers.admission import Fate
from gna.subscribers.formats.mapping import Target
from gna.subscribers.imports import State
from gna.web.pages.admin.shell import N_

TARGETS = {
    Target.EMAIL: N_("E-mail address"),
    Target.NICKNAME: N_("Nickname, or a part of it"),
    Target.STATUS: N_("Whether they confirmed or left"),
    Target.ACTIVATED_AT: N_("When they confirmed"),
    Target.OCD_IDS: N_("Places (ocd_ids)"),
    Target.LISTS: N_("Lists"),
    Target.ATTRIBUTE: N_("Attribute called …"),
    Target.IGNORE: N_("Leave out"),
}

# What a value can mean in a column that may say who left.
VALUES = {
    "confirmed": N_("They confirmed"),
    "left": N_("They left"),
    "unconfirmed": N_("They never confirmed: leave them out"),
    "ignore": N_("Says nothing about that"),
}

# The colour and the word of a state.
BADGES = {
    State.OPEN: ("", N_("Not started yet")),
    State.WAITING: ("run", N_("In the queue")),
    State.RUNNING: ("run", N_("Being read")),
    State.DONE: ("ok", N_("Imported")),
    State.FAILED: ("bad", N_("Could not be read")),
    State.STOPPED: ("warn", N_("Stopped early")),
}
COUNTED = ("", N_("Only counted"))

FATES = {
    Fate.NEW: (N_("New"), N_("They were not here before.")),
    Fate.UPDATED: (N_("Changed"), N_("They were here, and the file says more of them, or something else.")),
    Fate.UNCHANGED: (N_("As before"), N_("They were here, and the file says nothing new.")),
    Fate.OPTED_OUT: (
        N_("Noted as gone"),
        N_("The file says that they left or bounced. That is remembered, so that no later file brings them in."),
    ),
    Fate.REMOVED: (N_("Taken off"), N_("They were here, but the file says that they left since.")),
    Fate.SUPPRESSED: (
        N_("Left earlier"),
        N_("They unsubscribed or bounced before, so no file brings them back; they can sign up again themselves."),
    ),
    Fate.SKIPPED: (
        N_("Never confirmed"),
        N_("By the file they never confirmed, or it says so in a word that is not known here."),
    ),
    Fate.INVALID: (N_("Not readable"), N_("The address or another cell is wrong; the list of problems says which.")),
}

# Why a file or a choice is refused, in the words of those who refuse.
REASONS = (
    N_("Choose a file first"),
    N_("The file is empty."),
    N_("The file has a header but no rows."),
    N_("This is a web page, not a CSV file. Export the list as CSV and upload that."),
    N_("This is a spreadsheet. Save the sheet as CSV first, then upload that file."),
    N_("This is a PDF, not a CSV file. Export the list as CSV and upload that."),
    N_("The file is compressed in a way that cannot be read here. Unpack it and upload the CSV file."),
    N_("The first row must name the columns, for example: email,nickname"),
    N_("No column holds e-mail addresses. Name that column email in the first row."),
    N_("The file has more than 100 columns, and none is called email. Delete those you do not need"),
    N_("This is a log of what was sent or opened, not a list of people."),
    N_("The ZIP is damaged. Unpack it and upload the CSV files one by one."),
    N_("The ZIP holds no CSV file."),
    N_("No CSV file in the ZIP is a list of people: none has both a column of e-mail addresses and rows."),
    N_("Say which column holds the e-mail addresses"),
    N_("Say for each value that is not known here what it means"),
    N_("Only one column can be email"),
    N_("Only one column can be activated_at"),
    N_("Only one column can be ocd_ids"),
    N_("Only one column can be lists"),
    N_("Two columns cannot be the same attribute"),
    N_("The name of an attribute has 1–100 characters"),
    N_("A person can have at most 100 attributes"),
    N_("A list key is 1–64 letters, digits or - _ . :"),
    N_("This import has been started already"),
    N_("This import does not run"),
)
