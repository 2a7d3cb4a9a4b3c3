"""Connections to ports of boxes, as `docs/ports.md` describes them."""

PORT_PROTOCOL = "v1.port.boxyard"
#: Text of a message that ends its sender's direction.
PORT_END = "end"
MESSAGE_BYTES = 64 * 1024
