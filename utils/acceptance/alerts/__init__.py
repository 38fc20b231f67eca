"""Each alert is sent once, and its end once, to every target; who acknowledged what."""

from acceptance.alerts import acknowledgements, notify, targets
from acceptance.alerts.acknowledgements import AT_A_NODE, AWAY, MANY, Ack, Alert
from acceptance.alerts.notify import Notification
