"""Getting a machine ready: the doctor, and a first configuration of a new site."""

from acceptance.site import init
from acceptance.site.doctor import BROKEN, MISSING, OK, Examined, examine, refuse_wrong, row
from acceptance.site.fabric_limits import PartitionLimit, partition_limits
from acceptance.site.fabric_of_node import Fabric
from acceptance.site.unmet import unmet_rows
