import FrontDoor
import Glibc
import Ledger
import Platform
import Scheduler

/// `sluice serve`: works the queue, and speaks HTTP.
struct Serve: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "serve", abstract: "Work the queue as `run` does, and serve it over HTTP.",
    discussion: """
      Clients send a token with each request; `sluice tokens add` makes one. Where there is none yet, one for an
      administrator is made and printed. TLS ends in front of it, at nginx, HAProxy or Caddy. Without a pipeline.yaml it
      works with one of its own, which checks types, sizes and PDFs, and stores.
      """,
    options: [
      CommandOption(
        name: "listen", value: "ADDRESS",
        help: "Else 127.0.0.1:8080; or [::1]:8080, unix:/PATH, systemd; port 0 is any; repeatable.",
        takesSeveral: true)
    ] + Run.options,
    example: "sluice serve --listen 127.0.0.1:8080 --home /var/lib/sluice")

  private let arguments: ParsedArguments
  private let running: Run
  private let addresses: [ListenAddress]

  private static let usual = "127.0.0.1:8080"

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    running = try Run(arguments)
    var addresses: [ListenAddress] = []
    for text in arguments.values("listen").isEmpty ? [Self.usual] : arguments.values("listen") {
      guard let address = ListenAddress(text) else {
        throw .usage(
          "--listen takes 127.0.0.1:8080, [::1]:8080, unix:/path or systemd, not '\(Terminal.printable(text))'; names are "
            + "not looked up")
      }
      addresses.append(address)
    }
    self.addresses = addresses
  }

  func run() throws -> ExitCode {
    // Before anything of the home is touched: the address may be taken.
    var sockets: [SharedDescriptor] = []
    for address in addresses { sockets += try address.listen() }
    try makeFirstToken(for: sockets)
    for address in addresses where !address.isLocal {
      Terminal.error(
        "it listens where other machines reach it, without TLS: tokens and contents can be read on the way")
    }
    return try running.run { home, pipeline, intake in
      let settings = FrontDoor.Settings(executable: pipeline.search.server, version: Version.number)
      return try FrontDoor(home, settings, sockets: sockets, intake: intake) { Terminal.error($0) }
    }
  }

  /// So that the first request can be made.
  private func makeFirstToken(for sockets: [SharedDescriptor]) throws {
    let home = Environment.home(arguments)
    let hasTokens =
      try !Environment.lacksLedger(home) && !home.isInUse && !home.reader().tokens().isEmpty
    if hasTokens || home.isInUse { return }
    let token = try NewToken()
    let command = TokenCommand.add(hash: try token.hash(), name: "admin", role: .admin)
    _ = try CommandDesk(home).apply([.token(command)])
    let address = sockets.first.map { ListenAddress.name(of: $0.number) } ?? ""
    Terminal.error("this is a token for 'admin', who may do all; it is shown this once. For a start:")
    Terminal.error("  curl -H 'Authorization: Bearer \(token.text)' \(address)/v1/attachments", prefix: "")
  }
}
