/* The sandbox of a program that is a stage. Between fork(2) and execve(2), in a process with one thread. */
#ifndef SLUICE_PROGRAM_SANDBOX_H
#define SLUICE_PROGRAM_SANDBOX_H

#include "program.h"

/* What failed; number 0: nothing. */
struct sluice_step {
  uint32_t number; /* SLUICE_STEP_… */
  int32_t error;   /* errno */
};

/* Limits this process for good, and all that it starts. */
struct sluice_step sluice_program_confine(const sluice_program *program);
/* Becomes the program. Returns only where that fails: see errno. */
void sluice_program_execute(const sluice_program *program);

#endif
