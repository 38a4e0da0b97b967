# The simulator of the system on chip, by Verilator. Made by Tandem.
# make VERILATOR=verilator    with another one than that on PATH
VERILATOR = verilator
CXX_FAST = -O2
JOBS = 2
FLAGS = --cc --exe -O3 --x-assign fast --x-initial fast --noassert --output-split 30000 \
    -Wno-fatal -Wno-lint -Wno-style -Wno-WIDTH -Wno-TIMESCALEMOD -Wno-COMBDLY

soc_simulator: simulation.cpp sources.f
	$(VERILATOR) $(FLAGS) --prefix Vsoc --top-module soc --Mdir build -o soc_simulator -f sources.f $(CURDIR)/simulation.cpp
	$(MAKE) -j $(JOBS) -C build -f Vsoc.mk CFG_CXXFLAGS_PCH_I=-include OPT_FAST="$(CXX_FAST)" OPT_GLOBAL=-O1 VM_PARALLEL_BUILDS=1 soc_simulator
	cp build/soc_simulator $@
