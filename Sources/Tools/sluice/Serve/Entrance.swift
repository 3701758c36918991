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

  private static let usual = "127.0.0.1:8080"

  /// - Parameter addresses: where it listens, in place of what the pipeline file says; none: as that says.
  init(_ addresses: [ListenAddress]) { self.addresses = addresses }

  /// Takes the addresses, and makes the first token. Before anything of the home is touched: an address may be taken.
  func prepare(_ home: Home, _ pipeline: LoadedPipeline) throws {
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
    return try FrontDoor(home, settings, sockets: sockets, intake: intake) { Terminal.error($0) }
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
