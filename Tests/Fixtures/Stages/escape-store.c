/* The stage of escape.c with capability `store`. */
#define ESCAPE_ID "escape-store"
#define ESCAPE_CAPABILITY SLUICE_STORE
#define ESCAPE_FUNCTION escape_store_stage
#include "escape.c"
