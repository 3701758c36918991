import CPlatform
import Glibc

sluice_hold_standard_descriptors()
// If the user limits file sizes (`ulimit -f`), writing then fails with an error instead of ending the
// program.
signal(SIGXFSZ, SIG_IGN)
// If the reader of the output exits, as `head` does, writing then fails with an error instead of ending the
// program.
signal(SIGPIPE, SIG_IGN)

// Swift reads the arguments there, and workers are started with the other.
for (file, remedy) in [
  ("/proc/self/cmdline", "mount it with `mount -t proc proc /proc`"),
  ("/dev/null", "mount a /dev, as containers have it"),
] where access(file, F_OK) != 0 {
  Terminal.error("sluice needs \(file), which is not there; \(remedy)")
  exit(ExitCode.configuration.rawValue)
}

exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
