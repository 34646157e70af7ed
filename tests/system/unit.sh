#!/bin/sh
# The parsers and formulas of common and lib/.
exec "$HELPERS/unit"
