"""What one DRAM channel is: organisation, clock, timing parameters, controller; `presets/dram/*.toml`."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from presets.bounds import Count, Positive
from presets.specs import Section, Spec

Queue = Annotated[int, Field(ge=1, le=1024)]
Clocks = Annotated[int, Field(ge=0, le=100_000)]
Share = Annotated[float, Field(ge=0, le=1)]


class OrganisationSpec(Section):
    """One channel: pseudo-channels x SIDs x bank groups x banks x rows; what an access moves."""

    pseudo_channels: Literal[1, 2, 4]
    sids: Literal[1, 2, 4]
    bank_groups: Annotated[int, Field(ge=1, le=8)]
    banks: Annotated[int, Field(ge=1, le=8, description="of one bank group")]
    rows: Count
    row_bytes: Count = Field(description="of one pseudo-channel")
    access_bytes: Literal[32] = Field(description="what one RD or WR moves")


class ClockSpec(Section):
    """The command clock; data move on both of its edges, twice per edge of the write and read strobes."""

    frequency_hz: Positive


class TimingSpec(Section):
    """JEDEC's parameters in command clocks: `rcdrd_cycles` is nRCDRD."""

    bl_cycles: Clocks = Field(description="data of one access on the bus")
    cl_cycles: Clocks
    cwl_cycles: Clocks
    rcdrd_cycles: Clocks
    rcdwr_cycles: Clocks
    rp_cycles: Clocks
    ras_cycles: Clocks
    rc_cycles: Clocks
    wr_cycles: Clocks
    rtp_cycles: Clocks
    ccds_cycles: Clocks
    ccdl_cycles: Clocks
    ccdr_cycles: Clocks
    rrds_cycles: Clocks
    rrdl_cycles: Clocks
    wtrs_cycles: Clocks
    wtrl_cycles: Clocks
    rtw_cycles: Clocks
    faw_cycles: Clocks
    ppd_cycles: Clocks
    rfc_cycles: Clocks
    refi_cycles: Clocks

    def by_name(self) -> dict[str, int]:
        """The parameters under JEDEC's names with n for clocks: nRCDRD, nFAW, ..."""
        fields = type(self).model_fields
        return {"n" + field.removesuffix("_cycles").upper(): getattr(self, field) for field in fields}


class ControllerSpec(Section):
    """Queues in accesses, and the shares of the write queue between which writes are drained."""

    read_queue_entries: Queue
    write_queue_entries: Queue
    drain_above: Share
    drain_below: Share
    mapping: str = Field(default="M1", description="address mapping; see simfa/memory/channel/mapping.py")

    @model_validator(mode="after")
    def _watermarks_in_order(self) -> "ControllerSpec":
        if self.drain_below > self.drain_above:
            raise ValueError(
                f"controller.drain_below ({self.drain_below}) must not exceed drain_above ({self.drain_above})"
            )
        return self


class DramChannelSpec(Spec):
    """A DRAM standard at one speed: everything the command-level channel needs."""

    organisation: OrganisationSpec
    clock: ClockSpec
    timing: TimingSpec
    controller: ControllerSpec

    def bandwidth_bytes_per_s(self) -> float:
        """Peak of the channel: each pseudo-channel moves one access per burst."""
        shape = self.organisation
        return shape.pseudo_channels * shape.access_bytes * self.clock.frequency_hz / self.timing.bl_cycles

    def capacity_bytes(self) -> int:
        """Bytes of the channel."""
        shape = self.organisation
        banks = shape.pseudo_channels * shape.sids * shape.bank_groups * shape.banks
        return banks * shape.rows * shape.row_bytes
