// Runs digits on small8-x, to its ten logits: written by docs/ip.md and the exported files alone.
`timescale 1ns/1ps
module tb;
  parameter STALL = 30;        // percent of the cycles in which a channel waits
  parameter LATENCY = 30;
  localparam BASE = 32'h4000_0000;
  localparam SIZE = 1 << 18;
  localparam STREAM = 32'h4000_2000;  // where the stream's memory begins: a multiple of 4096

  reg clk = 0, rstn = 0;
  always #5 clk = ~clk;
  integer cycle = 0;
  always @(posedge clk) cycle <= cycle + 1;

  // memory and files
  reg [7:0] mem [0:SIZE-1];
  reg [7:0] file [0:SIZE-1];
  reg [7:0] launch [0:4095];
  reg [7:0] check [0:1023];
  reg [7:0] weights [0:1023];
  integer fd, n, i, j, k;

  // the machine
  wire arv, awv, wv, wlast, rready, bready, irq;
  reg arr = 0, awr = 0, wr = 0, rv = 0, bv = 0, rlast = 0;
  wire [1:0] arid, awid; reg [1:0] rid = 0, bid = 0;
  wire [31:0] araddr, awaddr; wire [7:0] arlen, awlen; wire [2:0] arsize, awsize;
  wire [1:0] arburst, awburst; wire [3:0] arcache, awcache; wire [2:0] arprot, awprot;
  reg [63:0] rdata = 0; wire [63:0] wdata; wire [7:0] wstrb;
  reg s_awv = 0, s_wv = 0, s_br = 0, s_arv = 0, s_rr = 0;
  wire s_awr, s_wr, s_bv, s_arr, s_rv;
  reg [9:0] s_awaddr = 0, s_araddr = 0; reg [31:0] s_wdata = 0; wire [31:0] s_rdata;
  wire [1:0] s_bresp, s_rresp;

  tandem dut(.aclk(clk), .aresetn(rstn), .irq(irq), .events(),
    .m_axi_arvalid(arv), .m_axi_arready(arr), .m_axi_arid(arid), .m_axi_araddr(araddr),
    .m_axi_arlen(arlen), .m_axi_arsize(arsize), .m_axi_arburst(arburst),
    .m_axi_arcache(arcache), .m_axi_arprot(arprot),
    .m_axi_rvalid(rv), .m_axi_rready(rready), .m_axi_rid(rid), .m_axi_rdata(rdata),
    .m_axi_rresp(2'b00), .m_axi_rlast(rlast),
    .m_axi_awvalid(awv), .m_axi_awready(awr), .m_axi_awid(awid), .m_axi_awaddr(awaddr),
    .m_axi_awlen(awlen), .m_axi_awsize(awsize), .m_axi_awburst(awburst),
    .m_axi_awcache(awcache), .m_axi_awprot(awprot),
    .m_axi_wvalid(wv), .m_axi_wready(wr), .m_axi_wdata(wdata), .m_axi_wstrb(wstrb),
    .m_axi_wlast(wlast),
    .m_axi_bvalid(bv), .m_axi_bready(bready), .m_axi_bid(bid), .m_axi_bresp(2'b00),
    .s_axi_awvalid(s_awv), .s_axi_awready(s_awr), .s_axi_awaddr(s_awaddr), .s_axi_awprot(3'b0),
    .s_axi_wvalid(s_wv), .s_axi_wready(s_wr), .s_axi_wdata(s_wdata), .s_axi_wstrb(4'hf),
    .s_axi_bvalid(s_bv), .s_axi_bready(s_br), .s_axi_bresp(s_bresp),
    .s_axi_arvalid(s_arv), .s_axi_arready(s_arr), .s_axi_araddr(s_araddr), .s_axi_arprot(3'b0),
    .s_axi_rvalid(s_rv), .s_axi_rready(s_rr), .s_axi_rdata(s_rdata), .s_axi_rresp(s_rresp));

  integer failures = 0, right = 0;
  task fail(input [8*40-1:0] what);
    begin failures = failures + 1; $display("cycle %0d: %0s", cycle, what); end
  endtask

  function busy(input integer dummy); busy = ($urandom % 100) < STALL; endfunction

  // Slave: reads. A queue of 128 bursts.
  reg [31:0] rq_addr [0:127]; reg [7:0] rq_len [0:127]; integer rq_time [0:127];
  reg [1:0] rq_id [0:127];
  integer rq_in = 0, rq_out = 0, rbeat = 0, max_reads = 0;
  always @(posedge clk) begin
    if (arv && arr) begin
      if (arburst != 1 || arsize != 3 || araddr[2:0] != 0) fail("a burst is not as the page says");
      if ({20'b0, araddr[11:0]} + (arlen + 1) * 8 > 4096) fail("a burst crosses 4 KiB");
      rq_addr[rq_in % 128] = araddr; rq_len[rq_in % 128] = arlen; rq_id[rq_in % 128] = arid;
      rq_time[rq_in % 128] = cycle; rq_in = rq_in + 1;
      if (rq_in - rq_out > max_reads) max_reads = rq_in - rq_out;
    end
    arr <= !busy(0);
    if (rv && rready) begin
      rv <= 0; rlast <= 0;
    end
    if ((!rv || rready) && rq_out < rq_in && cycle >= rq_time[rq_out % 128] + LATENCY && !busy(0)) begin
      k = rq_addr[rq_out % 128] + rbeat * 8 - BASE;
      if (k < 0 || k + 8 > SIZE) begin fail("a read is outside of memory"); $finish; end
      rdata <= {mem[k+7], mem[k+6], mem[k+5], mem[k+4], mem[k+3], mem[k+2], mem[k+1], mem[k]};
      rid <= rq_id[rq_out % 128];
      rlast <= rbeat == rq_len[rq_out % 128];
      rv <= 1;
      if (rbeat == rq_len[rq_out % 128]) begin rbeat = 0; rq_out = rq_out + 1; end
      else rbeat = rbeat + 1;
    end
  end

  // Slave: writes. Data may be taken once its address was.
  reg [31:0] wq_addr [0:127]; reg [1:0] wq_id [0:127]; integer bq_time [0:127];
  integer wq_in = 0, wq_out = 0, wbeat = 0, bq_in = 0, bq_out = 0;
  always @(posedge clk) begin
    if (awv && awr) begin
      wq_addr[wq_in % 128] = awaddr; wq_id[wq_in % 128] = awid; wq_in = wq_in + 1;
    end
    awr <= !busy(0);
    if (wv && wr) begin
      j = wq_addr[wq_out % 128] + wbeat * 8 - BASE;
      if (j < 0 || j + 8 > SIZE) begin fail("a write is outside of memory"); $finish; end
      for (i = 0; i < 8; i = i + 1) if (wstrb[i]) mem[j + i] = wdata[8*i +: 8];
      if (wlast) begin
        bq_time[bq_in % 128] = cycle; bq_in = bq_in + 1; wq_out = wq_out + 1; wbeat = 0;
      end else wbeat = wbeat + 1;
    end
    wr <= wq_out < wq_in && !busy(0);
    if (bv && bready) bv <= 0;
    if ((!bv || bready) && bq_out < bq_in && cycle >= bq_time[bq_out % 128] + LATENCY && !busy(0)) begin
      bv <= 1; bid <= wq_id[bq_out % 128]; bq_out = bq_out + 1;
    end
  end

  // Registers
  task put(input [9:0] offset, input [31:0] value);
    begin
      s_awaddr <= offset; s_awv <= 1; s_wdata <= value; s_wv <= 1; s_br <= 1;
      @(posedge clk);
      while (s_awv || s_wv || !s_bv) begin
        if (s_awv && s_awr) s_awv <= 0;
        if (s_wv && s_wr) s_wv <= 0;
        @(posedge clk);
      end
      if (s_bresp != 0) fail("a write of a register is refused");
      s_br <= 0; @(posedge clk);
    end
  endtask
  reg [31:0] got;
  task get(input [9:0] offset);
    begin
      s_araddr <= offset; s_arv <= 1; s_rr <= 1;
      @(posedge clk);
      while (!s_rv) begin
        if (s_arv && s_arr) s_arv <= 0;
        @(posedge clk);
      end
      got = s_rdata;
      if (s_rresp != 0) fail("a read of a register is refused");
      s_rr <= 0; s_arv <= 0; @(posedge clk);
    end
  endtask
  task long(input [9:0] offset, input [31:0] low); begin put(offset, low); put(offset + 4, 0); end endtask

  function [31:0] word(input integer at); word = {file[at+3], file[at+2], file[at+1], file[at]}; endfunction
  function real float(input [31:0] bits);
    float = bits[30:0] == 0 ? 0.0
      : (bits[31] ? -1.0 : 1.0) * (1.0 + bits[22:0] / 8388608.0) * 2.0 ** ($signed({1'b0, bits[30:23]}) - 127);
  endfunction

  integer checks, bases, segments, at, place, size, data, run, wrong;
  reg signed [31:0] logit, zero; real value, expected, scale;
  initial begin
    for (n = 0; n < SIZE; n = n + 1) mem[n] = 8'hA5;   // what nobody wrote is no zero
    fd = $fopen("digits_c/digits_stream_0.bin", "rb"); n = $fread(file, fd); $fclose(fd);
    if ({file[0], file[1], file[2], file[3]} != "TDNS" || word(4) != 1 || word(8) != n)
      fail("the file is no stream");
    fd = $fopen("digits_c/digits_launches.bin", "rb"); n = $fread(launch, fd); $fclose(fd);
    fd = $fopen("digits_c/check.bin", "rb"); n = $fread(check, fd); $fclose(fd);
    fd = $fopen("digits_c/digits_weights.bin", "rb"); n = $fread(weights, fd); $fclose(fd);
    checks = word(28); bases = word(32); segments = word(36);
    repeat (5) @(posedge clk); rstn <= 1; repeat (2) @(posedge clk);

    get(10'h000); if (got != 32'h544E444D) fail("magic is wrong");
    get(10'h004); if (got[31:16] != 1) fail("another version");
    at = 40;
    for (n = 0; n < checks; n = n + 1) begin
      get(word(at)); if (got != word(at + 4)) fail("another machine");
      at = at + 8;
    end
    // load
    place = STREAM - BASE;
    for (n = 0; n < ((word(16) + 4095) / 4096) * 4096; n = n + 1) mem[place + n] = 0;
    at = 40 + 8 * checks + 4 * bases; data = at + 8 * segments;
    for (n = 0; n < segments; n = n + 1) begin
      for (size = 0; size < word(at + 4); size = size + 1) mem[place + word(at) + size] = file[data + size];
      data = data + word(at + 4); at = at + 8;
    end
    for (run = 0; run < 2; run = run + 1) begin
      for (n = 0; n < 1024; n = n + 1) mem[place + 16384 + n] = launch[n];
      put(10'h014, 3);
      if (run == 0) begin
        long(10'h030, STREAM + word(20)); put(10'h038, word(24));
        for (n = 0; n < bases; n = n + 1) long(word(40 + 8 * checks + 4 * n), STREAM);
        put(10'h03C, 10000); put(10'h010, 3);
      end
      put(10'h008, 1);
      wait (irq); @(posedge clk);
      get(10'h00C); if (got != 2) fail("the launch is not done");
      get(10'h018); if (got != 0) fail("a fault");
      put(10'h014, 3);
      get(10'h100); $display("%0d cycles, at most %0d reads under way", got, max_reads);
      wrong = 0;
      for (n = 0; n < 64; n = n + 1) if (mem[place + 8192 + n] !== launch[1024 + n]) wrong = wrong + 1;
      if (wrong != 0) fail("bytes are wrong");
      for (n = 0; n < 10; n = n + 1) begin
        j = place + 8192 + n;   // [plane, 0, n / 8, 0, 0, 0, n % 8] of [4, 1, 2, 1, 1, 1, 8]
        logit = {mem[j + 48], mem[j + 32], mem[j + 16], mem[j]};
        scale = float({weights[4*n+3], weights[4*n+2], weights[4*n+1], weights[4*n]});
        zero = {weights[64+4*n+3], weights[64+4*n+2], weights[64+4*n+1], weights[64+4*n]};
        value = (logit - zero) * scale;
        expected = float({check[256+4*n+3], check[256+4*n+2], check[256+4*n+1], check[256+4*n]});
        if (value - expected < 1e-4 && expected - value < 1e-4) right = right + 1;
        else fail("a logit is wrong");
      end
    end
    $display("%0d logits right, %0d failures", right, failures);
    $finish;
  end
endmodule
