"""Each alert is sent once, and its end once, to every target; who acknowledged what."""

from acceptance.alerts import acknowledgements, alert, notify, targets
from acceptance.alerts.acknowledgements import Ack, AckFault
from acceptance.alerts.alert import HISTORY, Alert, Entry
from acceptance.alerts.notify import Acknowledged, Listing, Notification
