"""Each alert is sent once, and its end once, to every target; who acknowledged what."""

from acceptance.alerts import acknowledgements, alert, notify, targets
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import HISTORY, Alert
from acceptance.alerts.messages import Message
from acceptance.alerts.notification import Notification
from acceptance.alerts.notify import AlertFault, Listing
from acceptance.alerts.state import Entry

__all__ = [
    "HISTORY",
    "Ack",
    "AckFault",
    "Alert",
    "AlertFault",
    "Entry",
    "Listing",
    "Message",
    "Notification",
    "acknowledgements",
    "alert",
    "notify",
    "targets",
]
