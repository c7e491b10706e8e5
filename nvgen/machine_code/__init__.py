"""Machine code: PTX assembled by ptxas, what it reports of it, and what nvdisasm lists."""
