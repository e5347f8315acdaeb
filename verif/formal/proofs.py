"""The proofs, one entry each. docs/proofs.md says how to add one."""

from __future__ import annotations

from flow.formal import Bug, Proof

STREAM = "jackdaw:lib:stream"
AXI = "jackdaw:lib:axi"

PROOFS: tuple[Proof, ...] = (
    Proof(
        name="fifo_register",
        block="jd_stream_fifo",
        harness="jd_prove_fifo",
        core=STREAM,
        words="Depth 1: no word is lost, doubled, changed or overtaken; the count is right",
        parameters={"Width": 4, "Depth": 1},
        depth=2,
        bug=Bug(
            file="jd_stream_fifo.sv",
            pattern=r"assign in_ready_o = !out_valid_o;",
            replacement="assign in_ready_o = !out_valid_o || out_ready_i;",
            words="the register takes a word in the clock in which it gives one away",
        ),
    ),
    Proof(
        name="skid",
        block="jd_stream_skid",
        harness="jd_prove_fifo",
        core=STREAM,
        words="the same of the skid buffer (a FIFO of Depth 2)",
        parameters={"Width": 4, "Depth": 2},
        depth=2,
        bug=Bug(
            file="jd_stream_skid.sv",
            pattern=r"out_data_o <= spare_valid_q \? spare_q : in_data_i;",
            replacement="out_data_o <= in_valid_i ? in_data_i : spare_q;",
            words="a word at the input overtakes the spare register",
        ),
    ),
    Proof(
        name="fifo_memory",
        block="jd_stream_fifo",
        harness="jd_prove_fifo",
        core=STREAM,
        words="the same of a FIFO in a memory (Depth 5)",
        parameters={"Width": 4, "Depth": 5},
        depth=2,
        bug=Bug(
            file="jd_stream_fifo.sv",
            pattern=r"assign in_ready_o = count_o != CountW'\(Depth\);",
            replacement="assign in_ready_o = stored_q != CountW'(Depth);",
            words="the full test forgets the word at the output",
        ),
    ),
    Proof(
        name="arbiter",
        block="jd_stream_arbiter",
        harness="jd_prove_arbiter",
        core=STREAM,
        words="one grant at a time, its word unchanged until taken, nobody overtaken twice by one",
        depth=2,
        bug=Bug(
            file="jd_stream_arbiter.sv",
            pattern=r"IndexW'\(s\) > out_index_o",
            replacement="IndexW'(s) >= out_index_o",
            words="the input served last is served again before the others",
        ),
    ),
    Proof(
        name="axi_split",
        block="jd_axi_split",
        harness="jd_prove_split",
        core=AXI,
        words="bursts without gap or overlap, inside 4 KiB pages, all beats asked for, final last",
        depth=2,
        bug=Bug(
            file="jd_axi_split.sv",
            pattern=r"remaining_q <= 16'\(in_page\);",
            replacement="remaining_q <= 16'(in_page) + 16'd1;",
            words="a command that passes its page by one beat is not split",
        ),
    ),
    Proof(
        name="axi_read_mover",
        block="jd_axi_read_mover",
        harness="jd_prove_read_mover",
        parameters={"MaxOutstanding": 2},
        core=AXI,
        words="every beat asked and delivered once, last right, pages and the burst limit kept",
        depth=2,
        bug=Bug(
            file="jd_axi_read_mover.sv",
            pattern=r"assign free            = outstanding_q != CountW'\(MaxOutstanding\);",
            replacement="assign free            = 1'b1;",
            words="the limit of bursts is not kept",
            depth=7,
            skip=6,
        ),
    ),
    Proof(
        name="axi_write_mover",
        block="jd_axi_write_mover",
        harness="jd_prove_write_mover",
        core=AXI,
        words="every beat written once, WLAST right, limits kept, done once with the worst answer",
        parameters={"MaxOutstanding": 2},
        depth=2,
        bug=Bug(
            file="jd_axi_write_mover.sv",
            pattern=r"assign m_axi_wlast_o  = sent_beats_q == len_q\[send_q\];",
            replacement="assign m_axi_wlast_o  = sent_beats_q == len_q[finish_q];",
            words="WLAST follows the length of the burst to be answered next",
        ),
    ),
    Proof(
        name="axil_demux",
        block="jd_axil_demux",
        harness="jd_prove_demux",
        core=AXI,
        words="one response an access, only the page's target sees it, SLVERR for a page without",
        depth=2,
        bug=Bug(
            file="jd_axil_demux.sv",
            pattern=r"result.hit    = Rest \|\| page < Targets;",
            replacement="result.hit    = Rest || page <= Targets;",
            words="the first page without target goes to the last target",
        ),
    ),
    Proof(
        name="axil_demux_rest",
        block="jd_axil_demux",
        harness="jd_prove_demux",
        core=AXI,
        words="the same where the last target has all pages above its own",
        parameters={"Rest": 1},
        depth=2,
        bug=Bug(
            file="jd_axil_demux.sv",
            pattern=r"m_axil_wvalid_o  <= m_axil_wvalid_o & ~m_axil_wready_i;",
            replacement="m_axil_wvalid_o  <= m_axil_wvalid_o & ~m_axil_awready_i;",
            words="write data are withdrawn when the address is taken",
        ),
    ),
)
