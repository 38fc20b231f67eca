"""Getting a machine ready: the doctor, and a first configuration of a new site."""

from acceptance.site import init
from acceptance.site.doctor import examine, refuse_wrong
from acceptance.site.examined import BROKEN, MISSING, OK, Examined
from acceptance.site.fabric_limits import PartitionLimit, partition_limits
from acceptance.site.fabric_of_node import Fabric
from acceptance.site.unmet import unmet_rows
from acceptance.site.unprovided import everywhere, why_no_case, without_case
