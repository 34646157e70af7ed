#!/bin/sh
# The parsers and formulas of common.c.
exec "$HELPERS/unit"
