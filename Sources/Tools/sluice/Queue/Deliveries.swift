import LedgerPort

/// `sluice deliveries`: what is told to whom, and when it is tried next.
struct Deliveries: ParsableCommand {
  static let configuration = CommandConfiguration(
    name: "deliveries", abstract: "List deliveries, with the next try of each.", arguments: "[ID…]",
    discussion: """
      Those that are not delivered yet, unless --status says otherwise. An ID is a delivery's or an attachment's, and may
      be shortened. `sluice retry channel:NAME` makes due what waits for later.
      """,
    options: [
      CommandOption(
        name: "status", letter: "s", value: "STATUS,…",
        help:
          "Only these, of: \(DeliveryStatus.allCases.map(\.rawValue).joined(separator: ", ")); repeatable.",
        choices: DeliveryStatus.allCases.map(\.rawValue), takesSeveral: true)
    ] + DeliveryVerb.options + [.home, .format, .noColor],
    example: "sluice deliveries --channel webhook")

  private let arguments: ParsedArguments

  init(_ arguments: ParsedArguments) throws(CommandError) {
    self.arguments = arguments
    try DeliveryVerb.check(arguments)
  }

  func run() throws -> ExitCode {
    let named = arguments.values("status").compactMap { DeliveryStatus(rawValue: $0) }
    return try DeliveryVerb.list(
      arguments, DeliveryVerb.filter(arguments, Set(named.isEmpty ? [.pending] : named)))
  }
}
