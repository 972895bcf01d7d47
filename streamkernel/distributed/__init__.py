"""One model per key on Apache Spark (`spark`), many candidates on one stream on Ray (`ray`).

Neither engine is imported until its module is: `pip install "streamkernel[spark]"` or `"streamkernel[ray]"` brings it.
"""
