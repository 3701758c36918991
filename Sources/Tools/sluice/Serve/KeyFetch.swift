import Configuration
import Glibc
import Identity
import Pipeline
import Platform
import Synchronization
import Workbench
import Workers

/// Fetches the keys of tokens by their link: at the start, from time to time, and where a token names one that is not there. The
/// answer is hostile like that of any server: the plugin `http` asks, in its sandbox.
final class KeyFetch: Sendable {
  private let rules: ServeRules.Identity
  private let source: StageDefinition
  private let worker: String
  private let sandbox: SandboxPolicy
  /// Asks for them to be fetched again.
  private let wishes = Mailbox<Void>(capacity: 1)
  private let isWished = Atomic(false)
  /// Why they could not be fetched, as it was told.
  private let told = Mutex("")

  /// Milliseconds between two fetches: of what works, and at least.
  private static let (interval, pause) = (600_000, 60_000)
  private static let timeout: Int64 = 10_000
  private static let limit = 1 << 20

  init(_ rules: ServeRules.Identity, _ pipeline: LoadedPipeline) throws {
    self.rules = rules
    let search = pipeline.search
    guard let file = search.file(of: "http"),
      case .success(let description)? = search.describe([("http", file)])["http"]
    else {
      throw CommandError(
        .configuration,
        "keys are fetched by the plugin 'http', which cannot be used; `sluice doctor` tells more")
    }
    let allowed =
      rules.allowPrivate.isEmpty ? [] : ["allow-private=\(rules.allowPrivate.joined(separator: ","))"]
    var source = StageDefinition(
      id: description.id, description: description,
      values: try StageSettings.values(allowed, for: description))
    source.timeout = Self.timeout
    self.source = source
    (worker, sandbox) = (search.worker, pipeline.definition.sandbox)
  }

  /// A token names a key that is not there. Any thread calls it.
  func wish() {
    if !isWished.exchange(true, ordering: .relaxed) { wishes.send(()) }
  }

  /// Fetches them now, and again as long as the process lives.
  func begin(for tokens: JSONWebTokens) throws(SystemError) {
    fetch(for: tokens)
    try Thread { [self] in
      while true {
        _ = wishes.receive(within: told.withLock(\.isEmpty) ? Self.interval : Self.pause)
        fetch(for: tokens)
        // Who sends tokens without end makes no more requests than this.
        isWished.store(false, ordering: .relaxed)
        _ = wishes.poll()
        usleep(UInt32(Self.pause) * 1000)
      }
    }.detach()
  }

  private func fetch(for tokens: JSONWebTokens) {
    var problem = ""
    var launch = StageRunner.Launch(executable: worker)
    launch.sandbox = sandbox
    do {
      let folder = try ScratchFolder(in: Environment.temporaryFolder)
      let bytes = try LinkFetch.content(of: rules.keys, limit: Self.limit, by: source, launch, in: folder)
      try tokens.take(String(decoding: bytes, as: UTF8.self))
    } catch {
      problem = "\(error)"
    }
    let isNew = told.withLock { told in
      defer { told = problem }
      return told != problem
    }
    if isNew && !problem.isEmpty {
      Terminal.error(
        "serve: identity: the keys of tokens stay as they were: \(rules.keys): \(problem); it is tried again each minute"
      )
    }
  }
}
