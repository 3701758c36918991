import Platform

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

  private let running: Run
  private let entrance: Entrance

  init(_ arguments: ParsedArguments) throws(CommandError) {
    running = try Run(arguments)
    entrance = Entrance(try arguments.values("listen").map(Self.address))
  }

  private static func address(_ text: String) throws(CommandError) -> ListenAddress {
    if let address = ListenAddress(text) { return address }
    throw .usage(
      "--listen takes 127.0.0.1:8080, [::1]:8080, unix:/path or systemd, not '\(Terminal.printable(text))'; names are "
        + "not looked up")
  }

  func run() throws -> ExitCode { try running.run(entrance) }
}
