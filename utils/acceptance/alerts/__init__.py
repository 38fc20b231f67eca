"""Each alert is sent once, and its end once, to every target; who acknowledged what."""

from acceptance.alerts import acknowledgements, notify, targets
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import KINDS, Alert
from acceptance.alerts.messages import Message
from acceptance.alerts.notification import Notification
from acceptance.alerts.notify import AlertFault, Listing
from acceptance.alerts.state import Entry

__all__ = [
    "KINDS",
    "Ack",
    "AckFault",
    "Alert",
    "AlertFault",
    "Entry",
    "Listing",
    "Message",
    "Notification",
    "acknowledgements",
    "notify",
    "targets",
]
