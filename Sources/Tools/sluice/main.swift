import CPlatform
import Glibc

sluice_hold_standard_descriptors()
// Where the user limits how large files may become (`ulimit -f`), writing fails and says so, instead of ending the program.
signal(SIGXFSZ, SIG_IGN)
// Whoever reads the output may go, as `head` does: writing fails then.
signal(SIGPIPE, SIG_IGN)

exit(CommandLineTool.run(Array(CommandLine.arguments.dropFirst())).rawValue)
