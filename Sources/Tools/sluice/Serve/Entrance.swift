import Configuration
import FrontDoor
import Identity
import Ledger
import Pipeline
import Platform
import Scheduler

/// The way in over HTTP, as it is opened when `sluice serve` starts.
final class Entrance {
  private let addresses: [ListenAddress]
  private var sockets: [SharedDescriptor] = []
  private var identity: JSONWebTokens?
  /// For clients of ClamAV's daemon, with the pipelines that judge.
  private var doors: [(rules: ServeRules.ClamdDoor, socket: SharedDescriptor, pipeline: LoadedPipeline)] = []

  private static let usual = "127.0.0.1:8080"

  /// - Parameter addresses: where it listens, in place of what the pipeline file says; none: as that says.
  init(_ addresses: [ListenAddress]) { self.addresses = addresses }

  /// Takes the addresses, and makes the first token. Before anything of the home is touched: an address may be taken.
  ///
  /// - Parameter file: the pipeline's.
  func prepare(_ home: Home, _ pipeline: LoadedPipeline, file: String) throws {
    let rules = pipeline.definition.serve
    let addresses =
      addresses.isEmpty
      ? (rules.listen.isEmpty ? [Self.usual] : rules.listen).compactMap(ListenAddress.init) : addresses
    identity = try rules.identity.map { try tokens($0, home, pipeline) }
    if pipeline.isBuiltIn {
      Terminal.error(
        "there is no pipeline.yaml here, and none in /etc/sluice: it works with one of its own, which takes PDFs, images and text "
          + "of up to 10 MB, and fetches links; --config names another")
    }
    for address in addresses { sockets += try address.listen() }
    try openDoors(home, pipeline, file)
    try makeFirstToken(in: home)
    for address in addresses where !address.isLocal {
      Terminal.error(
        "it listens where other machines reach it, without TLS: tokens and contents can be read on the way")
    }
  }

  /// What tells tokens that the product signs.
  private func tokens(
    _ rules: ServeRules.Identity, _ home: Home, _ pipeline: LoadedPipeline
  ) throws -> JSONWebTokens {
    if rules.isLink {
      let fetch = try KeyFetch(rules, pipeline)
      let tokens = try JSONWebTokens(issuer: rules.issuer, audience: rules.audience) { fetch.wish() }
      try fetch.begin(for: tokens)
      return tokens
    }
    return try JSONWebTokens(issuer: rules.issuer, audience: rules.audience, path: home.file(rules.keys)) {
      Terminal.error($0)
    }
  }

  func open(_ home: Home, _ pipeline: LoadedPipeline, _ intake: Intake) throws -> FrontDoor {
    var settings = FrontDoor.Settings(executable: pipeline.search.server, version: Version.number)
    settings.requiresSandbox = pipeline.definition.sandbox == .require
    settings.fetches = pipeline.definition.downloads != nil
    settings.prefetches = pipeline.definition.downloads?.prefetch != nil
    settings.rules = pipeline.definition.serve
    settings.identity = identity
    settings.checker = try Checker(
      pipeline.definition, digest: pipeline.digest, executable: pipeline.search.worker, isWarm: false
    ) { Terminal.error($0) }
    return try FrontDoor(home, settings, sockets: sockets, intake: intake) { Terminal.error($0) }
  }

  private func openDoors(_ home: Home, _ pipeline: LoadedPipeline, _ file: String) throws {
    let rules = pipeline.definition.serve.clamd
    let judges = try Environment.doors(of: pipeline, file: file, home: home)
    let loops = DoorLoop.diagnostics(rules, judges)
    if !loops.isEmpty { throw ConfigurationError(diagnostics: loops.map(\.printable)) }
    for (door, judge) in zip(rules, judges) {
      guard let address = ListenAddress(door.listen) else { continue }
      for socket in try address.listen() { doors.append((door, socket, judge)) }
      if !address.isLocal {
        Terminal.error(
          "\(door.listen) is open to other machines, and clamd's protocol knows no tokens: whoever reaches it may have contents judged"
        )
      }
    }
  }

  /// Opens the doors for clients of ClamAV's daemon; `nil`: there are none.
  ///
  /// - Parameter front: counts and logs what came of checks.
  func openDoors(_ home: Home, _ pipeline: LoadedPipeline, _ front: FrontDoor) throws -> ClamdDoors? {
    if doors.isEmpty { return nil }
    // Doors with one pipeline share its workers.
    var checkers: [(file: String, checker: Checker)] = []
    let open = try doors.map { rules, socket, judge in
      let name = rules.pipeline ?? ""
      if let known = checkers.first(where: { $0.file == name }) {
        return ClamdDoors.Door(rules, socket: socket, checker: known.checker)
      }
      let checker = try Checker(judge.definition, digest: judge.digest, executable: judge.search.worker) {
        Terminal.error($0)
      }
      checkers.append((name, checker))
      return ClamdDoors.Door(rules, socket: socket, checker: checker)
    }
    return try ClamdDoors(
      open, checkers.map(\.checker), home, front: front, executable: pipeline.search.server,
      version: Version.number,
      requiresSandbox: pipeline.definition.sandbox == .require
    ) { Terminal.error($0) }
  }

  /// So that the first request can be made.
  private func makeFirstToken(in home: Home) throws {
    let hasTokens =
      try !Environment.lacksLedger(home) && !home.isInUse && !home.reader().tokens().isEmpty
    if hasTokens || home.isInUse { return }
    let token = try NewToken()
    let command = TokenCommand.add(hash: try token.hash(), name: "admin", role: .admin)
    _ = try CommandDesk(home).apply([.token(command)])
    let address = sockets.first.map { ListenAddress.name(of: $0.number) } ?? ""
    // As curl takes it.
    let path = address.hasPrefix("unix:") ? address.dropFirst("unix:".count) : nil
    let place = path.map { "--unix-socket \(ShellWord.of(String($0))) http://localhost" } ?? address
    Terminal.error("this is a token for 'admin', who may do all; it is shown this once. For a start:")
    Terminal.error("  curl -H 'Authorization: Bearer \(token.text)' \(place)/v1/attachments", prefix: "")
  }
}
