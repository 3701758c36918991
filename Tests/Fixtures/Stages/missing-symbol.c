/* A library that is no stage: the function that describes one is missing. */
int nothing_stage(void) { return 0; }
