import CPlatform
import CWorker
import Glibc
import Pipeline
import Wire

// The process that runs stages. It is started by the coordinator only, with its descriptors in place:
//
//     sluice-worker run PARENT                   opens the stages its setup names, closes the sandbox, works
//     sluice-worker describe MAJOR FILE… PARENT  loads those of these plugins that it is asked for, asks them as a host of
//                                                that major, and says what each is
//
// PARENT is 0 where another program, such as a debugger, stands between the two.
//
// It ends when the coordinator does, or when the coordinator closes the socket.

// A server that closes its connection ends no worker: libraries for TLS write without MSG_NOSIGNAL.
signal(SIGPIPE, SIG_IGN)

let words = CommandLine.arguments
let socket = ControlSocket(SLUICE_FD_CONTROL)
switch words.count > 1 ? words[1] : "" {
case "run" where words.count == 3:
  guard let parent = Int32(words[2]), parent == 0 || sluice_die_with(parent) == 0 else { exit(0) }
  Worker.run(socket)
case "describe" where words.count >= 4:
  // A plugin may hang while it loads.
  guard let major = UInt32(words[2]), let parent = words.last.flatMap({ Int32($0) }),
    sluice_die_with(parent) == 0
  else { exit(0) }
  Plugin.describe(as: major, Array(words.dropFirst(3).dropLast()), to: socket)
default:
  let text = "sluice-worker is started by sluice; see `sluice stages run --help`\n"
  _ = text.withCString { write(2, $0, strlen($0)) }
  exit(2)
}
