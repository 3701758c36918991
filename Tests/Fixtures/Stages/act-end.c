/* `act` as a stage at the end. */
#define ACT_END
#include "act.c"
