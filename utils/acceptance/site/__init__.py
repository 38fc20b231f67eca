"""Getting a machine ready: the doctor, and a first configuration of a new site."""

from acceptance.site import init
from acceptance.site.doctor import BROKEN, MISSING, OK, Examined, examine, refuse_wrong
from acceptance.site.fabric_limits import PartitionLimit, partition_limits
from acceptance.site.unmet import Unmet, unmet_rows
from acceptance.site.unprovided import in_words, partition_size, why_no_case, without_case
