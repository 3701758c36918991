import CPlatform
import CWorker
import Glibc
import HTTPServer

// The process that speaks HTTP with the world. It is started by the coordinator only, with its descriptors in place:
//
//     sluice-httpd serve PARENT
//     sluice-httpd clamd PARENT
//
// The second answers clients of ClamAV's daemon instead, which are no concern of those that have tokens.
// It parses what clients send, asks the coordinator what to answer, and sends that. It has no rights but to use the sockets and
// files that it is handed. It ends when the coordinator does, or when the coordinator closes the socket.

let words = CommandLine.arguments
guard words.count == 3, ["serve", "clamd"].contains(words[1]), let parent = Int32(words[2]) else {
  let text = "sluice-httpd is started by sluice; see `sluice serve --help`\n"
  _ = text.withCString { write(2, $0, strlen($0)) }
  exit(2)
}
if sluice_die_with(parent) != 0 { exit(0) }
if sluice_front_begin() != 0 { exit(1) }
do {
  if words[1] == "serve" { try Gate.serve() } else { try ClamdGate.serve() }
} catch {
  let text = "\(error)\n"
  _ = text.withCString { write(2, $0, strlen($0)) }
  exit(1)
}
