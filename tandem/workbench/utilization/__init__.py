"""The array's utilisation in convolutions, with and without latency hiding.

engine = make_engine("rtl", load_config("pynq"), parse_memory("fast"))
for row in measure(engine, RESNET18):
    print(row.layer.name, row.times.cycles_with, row.times.utilization_with)
"""

from tandem.workbench.utilization.conv_layers import RESNET18, ConvLayer, parse_layer
from tandem.workbench.utilization.measure import measure
from tandem.workbench.utilization.rows import Row, Times, total

__all__ = ["RESNET18", "ConvLayer", "Row", "Times", "measure", "parse_layer", "total"]
