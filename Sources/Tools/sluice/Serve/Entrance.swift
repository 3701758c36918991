import Configuration
import FrontDoor
import Glibc
import HomeFolder
import Identity
import LedgerPort
import LedgerSQLite
import Pipeline
import Platform
import Scheduler
import Sealing

/// The way in over HTTP, as it is opened when `sluice serve` starts.
final class Entrance {
  private let addresses: [ListenAddress]
  private var sockets: [SharedDescriptor] = []
  /// The sockets that this program made itself.
  private var ownSockets: [SharedDescriptor] = []
  private var identity: JSONWebTokens?
  /// For clients of ClamAV's daemon, with the pipelines that judge.
  private var doors: [(rules: ServeRules.ClamdDoor, socket: SharedDescriptor, pipeline: LoadedPipeline)] = []

  /// Whether the pipeline that is worked with is another than the one that it was opened with.
  private var isFollowing = false

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
    identity = try rules.identity.map { try tokens($0, pipeline) }
    if pipeline.isBuiltIn {
      Terminal.error(
        "there is no pipeline.yaml here, and none in /etc/sluice: it works with one of its own, which takes PDFs, images and text "
          + "of up to 10 MB, and fetches links; --config names another")
    }
    for address in addresses { sockets += try listen(at: address) }
    try openDoors(home, pipeline, file)
    try makeFirstToken(in: home)
    for address in addresses where !address.isLocal {
      Terminal.error(
        "it listens where other machines reach it, without TLS: tokens and contents can be read on the way")
    }
  }

  /// What tells tokens that the product signs.
  private func tokens(
    _ rules: ServeRules.Identity, _ pipeline: LoadedPipeline
  ) throws -> JSONWebTokens {
    if rules.isLink {
      let fetch = try KeyFetch(rules, pipeline)
      let tokens = try JSONWebTokens(issuer: rules.issuer, audience: rules.audience) { fetch.wish() }
      try fetch.begin(for: tokens)
      return tokens
    }
    return try JSONWebTokens(issuer: rules.issuer, audience: rules.audience, path: rules.keys) {
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
    settings.linkKey = try linkKey(home, pipeline.definition.secrets)
    settings.checker = try Self.checker(pipeline, isWarm: false)
    return try FrontDoor(home, settings, sockets: sockets, intake: intake) { Terminal.error($0) }
  }

  /// The key for signatures of links; `nil`: the key of the home is lost.
  private func linkKey(_ home: Home, _ rules: SecretRules) throws -> [UInt8]? {
    let source = rules.key.flatMap { KeySource($0) }
    let found = try? FoundKey.find(
      source, home: home.path, makesKey: try !home.sealedHome().hasValues, environment: Environment.variables)
    return try found?.key.derived(for: "sluice 1 links")
  }

  private func listen(at address: ListenAddress) throws(SystemError) -> [SharedDescriptor] {
    let made = try address.listen()
    if address != .systemd { ownSockets += made }
    return made
  }

  /// Has the kernel refuse new connections. At sockets of systemd, clients wait for the next start.
  func close() {
    for socket in ownSockets { shutdown(socket.number, Int32(SHUT_RDWR)) }
  }

  private func openDoors(_ home: Home, _ pipeline: LoadedPipeline, _ file: String) throws {
    let rules = pipeline.definition.serve.clamd
    let judges = try Environment.doors(of: pipeline, file: file, home: home)
    let faults = DoorFaults.diagnostics(rules, judges)
    if !faults.isEmpty { throw ConfigurationError(diagnostics: faults.map(\.printable)) }
    for (door, judge) in zip(rules, judges) {
      guard let address = ListenAddress(door.listen) else { continue }
      for socket in try listen(at: address) { doors.append((door, socket, judge)) }
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
    let (ofDoors, all) = try checkers(doors.map(\.pipeline))
    let open = zip(doors, ofDoors).map { ClamdDoors.Door($0.rules, socket: $0.socket, checker: $1) }
    return try ClamdDoors(
      open, all, home, front: front, executable: pipeline.search.server,
      version: Version.number,
      requiresSandbox: pipeline.definition.sandbox == .require
    ) { Terminal.error($0) }
  }

  private static func checker(_ pipeline: LoadedPipeline, isWarm: Bool) throws(SystemError) -> Checker {
    try Checker(
      pipeline.definition, digest: pipeline.digest, executable: pipeline.search.worker, isWarm: isWarm
    ) { Terminal.error($0) }
  }

  /// What judges with the pipelines of the doors: for each door, and each once. Doors with one pipeline share its workers.
  private func checkers(_ judges: [LoadedPipeline]) throws(SystemError) -> ([Checker], all: [Checker]) {
    var made: [(file: String, checker: Checker)] = []
    var ofDoors: [Checker] = []
    for (door, judge) in zip(doors, judges) {
      let name = door.rules.pipeline ?? ""
      if let known = made.first(where: { $0.file == name })?.checker {
        ofDoors.append(known)
        continue
      }
      let checker = try Self.checker(judge, isWarm: true)
      made.append((name, checker))
      ofDoors.append(checker)
    }
    return (ofDoors, made.map(\.checker))
  }

  /// The rules of the doors that are open; a door that listens at several sockets is there for each.
  var doorRules: [ServeRules.ClamdDoor] { doors.map(\.rules) }

  /// Has contents judged by the pipeline that is worked with from now on, and by those of the doors that were read with it. The first
  /// is the one that it was opened with.
  func follow(_ pipeline: LoadedPipeline, _ front: FrontDoor, _ doors: ClamdDoors?) {
    defer { isFollowing = true }
    if !isFollowing { return }
    do throws(SystemError) {
      front.judge(with: try Self.checker(pipeline, isWarm: false))
      guard let doors else { return }
      // It was read before doors were, where it is the first one again.
      let judges = pipeline.judges.isEmpty ? self.doors.map(\.pipeline) : pipeline.judges
      let (ofDoors, all) = try checkers(judges)
      doors.judge(with: ofDoors, all)
    } catch {
      Terminal.error("contents are checked as before: \(error)")
    }
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
