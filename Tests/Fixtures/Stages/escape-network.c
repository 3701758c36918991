/* The stage of escape.c with capability `network`. */
#define ESCAPE_ID "escape-network"
#define ESCAPE_CAPABILITY SLUICE_NETWORK
#define ESCAPE_FUNCTION escape_network_stage
#include "escape.c"
