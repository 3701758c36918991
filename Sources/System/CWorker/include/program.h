/* Programs of any language as stages: the process that starts one and ends its family, and the program's sandbox. */
#ifndef SLUICE_PROGRAM_H
#define SLUICE_PROGRAM_H

#include <stdint.h>

/* Descriptors of a program; 0 and 1 bring lines, 2 is the worker's standard error. It has no others. */
#define SLUICE_PROGRAM_CONTENT 3 /* the content, for reading */
#define SLUICE_PROGRAM_OUTPUT 4  /* new content, for reading and writing */

#define SLUICE_PROGRAM_SANDBOX_OFF 0u
#define SLUICE_PROGRAM_SANDBOX_PREFER 1u
#define SLUICE_PROGRAM_SANDBOX_REQUIRE 2u

/* What is started, and what it may. Lists end with NULL. */
typedef struct sluice_program {
  const char *folder;          /* where it runs */
  const char *const *words;    /* its name or path, and its arguments */
  const char *const *environment;
  const char *const *reads;    /* files and folders that it may read, beside what interpreters are installed with */
  uint32_t processes;          /* processes and threads of its family at once; 1: no processes, but threads */
  int64_t memory;              /* bytes of address space of each process */
  int64_t output;              /* bytes of a file */
  uint32_t sandbox;            /* SLUICE_PROGRAM_SANDBOX_… */
} sluice_program;

/* What the keeper tells. */
#define SLUICE_PROGRAM_STARTED 1u
#define SLUICE_PROGRAM_FAILED 2u /* it cannot be started: `step` failed with the errno `detail` */
#define SLUICE_PROGRAM_ENDED 3u  /* it has ended: `detail` is its status, as of wait(2) */
#define SLUICE_PROGRAM_SWEPT 4u  /* processes of its family that began since the last time have been ended: `detail` of them */

/* What can fail before the program runs. */
#define SLUICE_STEP_USER 1u       /* becoming nobody */
#define SLUICE_STEP_NAMESPACE 2u  /* a user and a PID namespace of its own */
#define SLUICE_STEP_PROCESS 3u    /* fork(2) */
#define SLUICE_STEP_FOLDER 4u     /* chdir(2) */
#define SLUICE_STEP_LIMITS 5u
#define SLUICE_STEP_FILES 6u      /* Landlock */
#define SLUICE_STEP_CALLS 7u      /* seccomp */
#define SLUICE_STEP_PROGRAM 8u    /* execve(2) */
#define SLUICE_STEP_READS 9u      /* opening a path of `reads` */

typedef struct sluice_program_news {
  uint32_t kind; /* SLUICE_PROGRAM_STARTED and so on */
  uint32_t step;
  int32_t detail;
} sluice_program_news;

/* Starts the keeper: a process between the worker and its program, which starts the program, ends what the program leaves
 * behind, and tells how it ended. Call it while the worker has one thread, and before it forbids itself processes. Returns a
 * socket that keeps message boundaries, or -1 and errno. The keeper and the program's family end with the worker, or once it
 * closes the socket. `program` must live until then in the worker as well. */
int sluice_keeper_start(const sluice_program *program);
/* Has the program started, with these descriptors as 0, 1, 3 and 4; one that ran before is ended. SLUICE_PROGRAM_STARTED or
 * SLUICE_PROGRAM_FAILED follows. -1: see errno. */
int sluice_keeper_run(int keeper, const int descriptors[4]);
/* What the family has started so far may stay as long as the program: it is ready now. SLUICE_PROGRAM_SWEPT follows: what is
 * started before it may stay as well. */
int sluice_keeper_spare(int keeper);
/* Has what began since the last time ended. SLUICE_PROGRAM_SWEPT follows. By write(2) alone, as the
 * sandbox allows. */
int sluice_keeper_sweep(int keeper);
/* Has the whole family ended. Nothing follows. */
int sluice_keeper_end(int keeper);

/* Whether this user may make the namespaces that a program of several processes needs: 0, or an errno. */
int sluice_namespaces_problem(void);

#endif
