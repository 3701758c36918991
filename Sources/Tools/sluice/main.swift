import CPlatform
import Glibc

sluice_hold_standard_descriptors()
// If the user limits file sizes (`ulimit -f`), writing then fails with an error instead of ending the
// program.
signal(SIGXFSZ, SIG_IGN)
// If the reader of the output exits, as `head` does, writing then fails with an error instead of ending the
// program.
signal(SIGPIPE, SIG_IGN)

exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
