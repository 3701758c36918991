import Glibc
import Pipeline
import Platform
import Wire
import Workers

// Checks of a source's transfers: each to its end, several at once, and beyond its limit.
extension Conformance {
  /// What a link yields, if nothing comes between.
  enum Reference {
    case content(TransferFile)
    /// It is not fetched, for this reason.
    case refused(String)
  }

  static let linkless = "no link was named that it could fetch; name one with --link URL"
  /// Bytes that a source may take in between two checkpoints. The contract asks for one after 8 MiB; a piece comes on top.
  private static let gap: Int64 = 16 << 20
  private static let atOnce = 8

  func sourceBench(limit: Int64 = 1 << 40) throws -> SourceBench {
    var stage = stage
    stage.output = limit
    var launch = launch
    launch.isTraced = true
    launch.standardOutput = standardOutput.descriptor.number
    return SourceBench(
      StageRunner(stage, launch), limit: limit, try ScratchFolder(in: temporaryFolder)
    ) { [unowned self] in observe($0) }
  }

  /// A link in words. It may hold a secret, so that it is not quoted.
  func name(_ link: String) -> String {
    links.count == 1 ? "the link" : "link \((links.firstIndex(of: link) ?? 0) + 1)"
  }

  /// The links with what they yield.
  ///
  /// - Returns: no more than those that are fetched; or why there are none.
  func fetched() throws -> Result<[(link: String, file: TransferFile)], Skip> {
    if links.isEmpty { return .failure(Skip(why: Self.linkless)) }
    var list: [(String, TransferFile)] = []
    for link in links {
      if case .content(let file) = try reference(of: link) { list.append((link, file)) }
    }
    return list.isEmpty ? .failure(Skip(why: "no link is fetched: see `fetch`")) : .success(list)
  }

  struct Skip: Error {
    var why: String
  }

  private func reference(of link: String) throws -> Reference {
    if let known = references[link] { return known }
    let transfer = try sourceBench().give(link, self)
    let reference: Reference = transfer.isPassed ? .content(transfer.file) : .refused(transfer.summary)
    references[link] = reference
    return reference
  }

  func fetch() throws -> Check.Result {
    if links.isEmpty { return .skipped(Self.linkless) }
    for link in links {
      let bench = try sourceBench()
      let transfer = try bench.give(link, self)
      guard transfer.isPassed else {
        references[link] = .refused(transfer.summary)
        return .failed(
          "\(name(link)) is not fetched: \(transfer.summary)",
          remedy:
            "name one that it fetches with these options; an address of this machine may have to be allowed, with --set"
        )
      }
      references[link] = .content(transfer.file)
      if let problem = Self.problem(of: transfer) { return problem }
      // What an earlier attempt left is not to be believed.
      let used = try TransferFile(in: bench.folder)
      try used.scribble(after: 0, gap: transfer.file.size)
      let second = try bench.give(link, self, to: used)
      guard second.isPassed else {
        return .failed(
          "fetched once more, \(name(link)) ends otherwise: \(second.summary)",
          remedy: "name a link that yields the same each time")
      }
      if let place = try second.file.difference(from: transfer.file) {
        return .failed(
          "fetched once more into a file with something in it, \(name(link)) differs from byte \(place) on",
          remedy:
            "write from where the transfer begins, and cut off with ftruncate(2) what lies behind the content"
        )
      }
    }
    return .passed
  }

  /// What is wrong with a transfer's checkpoints, now that it has ended.
  static func problem(of transfer: TriedTransfer) -> Check.Result? {
    if let overreach = transfer.overreach {
      return .failed(
        "a checkpoint says \(Count.text(overreach.told, "byte")), and \(overreach.there) are in the file",
        remedy:
          "tell a checkpoint of what is written and synced (fdatasync(2)) only: the next attempt begins there"
      )
    }
    guard transfer.isPassed else { return nil }
    let size = transfer.file.size
    if let last = transfer.checkpoints.last, last.bytes > size {
      return .failed(
        "it passes with \(Count.text(size, "byte")), and its last checkpoint says \(last.bytes)",
        remedy: "pass once the whole content is in the file, and nothing beyond it")
    }
    if let total = transfer.checkpoints.last?.total, total != size {
      return .failed(
        "it passes with \(Count.text(size, "byte")), and its last checkpoint says \(total) in all",
        remedy: "pass once the whole content is in the file; where the total is not known, leave it out")
    }
    let places = [transfer.start.bytes] + transfer.checkpoints.map(\.bytes) + [size]
    let widest = zip(places.dropFirst(), places).map { $0 - $1 }.max() ?? 0
    if widest > gap {
      return .failed(
        "\(ByteSize.rounded(widest)) come without a checkpoint",
        remedy:
          "sync the file and tell one after at most 8 MiB or two seconds: what is not told is fetched again")
    }
    return nil
  }

  /// Whether a transfer ended as its link is known to; `nil`: it did.
  func problem(of transfer: TriedTransfer, _ expected: TransferFile, _ what: String) throws -> Check.Result? {
    guard transfer.isPassed else {
      return .failed(
        "\(what), \(name(transfer.link)) is not fetched: \(transfer.summary)", remedy: Self.again)
    }
    if let problem = Self.problem(of: transfer) { return problem }
    guard let place = try transfer.file.difference(from: expected) else { return nil }
    return .failed("\(what), \(name(transfer.link)) differs from byte \(place) on", remedy: Self.again)
  }

  private static let again =
    "go on from `bytes` of the transfer, believe nothing that lies behind them in the file, and keep what belongs to a "
    + "transfer apart from the others"

  // MARK: Links

  /// Links that no source can fetch, and what of them may stand nowhere.
  static let hostileLinks: (links: [String], secret: String) = {
    let secret = "hush-5f1e77aa"
    return (
      [
        "", "://", "https://", secret, "file:///etc/passwd?\(secret)", "javascript:alert('\(secret)')",
        "gopher://127.0.0.1:1/\(secret)", "https://[::1/\(secret)", "https://nowhere.invalid:99999/\(secret)",
        "https://user:\(secret)@nowhere.invalid/", "https://nowhere.invalid/../../\(secret)?%00%2e%2e%2f",
        "https://nowhere.invalid/\u{1B}[2J\r\nx-header: \(secret)",
        "https://no\u{202E}where.invalid/%s%n?\(secret)",
        "https://nowhere.invalid/" + String(repeating: "\(secret)/", count: 500),
      ], secret
    )
  }()

  /// Milliseconds that a link which cannot be fetched is left to itself; then it is stopped.
  private static let patience: Int64 = 3000

  func hostile() throws -> Check.Result {
    let bench = try sourceBench()
    for link in Self.hostileLinks.links {
      let shown = "the link '\(link.prefix(60))'"
      bench.forgetSayings()
      let transfer = try bench.give(link)
      if try !bench.listen(Self.patience, shown, until: { transfer.result != nil }) {
        try bench.order(transfer, .stop)
        try bench.finish(transfer, shown)
      }
      if transfer.isPassed {
        return .failed(
          "\(shown) passes with \(Count.text(transfer.file.size, "byte"))",
          remedy: "take the schemes, hosts and paths that the source is for, and fail all others")
      }
      if bench.sayings.contains(where: { $0.contains(Self.hostileLinks.secret) }) {
        return .failed(
          "what it says of \(shown) quotes it",
          remedy: "name the host at most: links, headers and bodies may hold secrets")
      }
    }
    return .passed
  }

  func several() throws -> Check.Result {
    let known: [(link: String, file: TransferFile)]
    switch try fetched() {
    case .success(let list): known = list
    case .failure(let skip): return .skipped(skip.why)
    }
    let bench = try sourceBench()
    let transfers = try (0..<Self.atOnce).map { number in
      (try bench.give(known[number % known.count].link), known[number % known.count].file)
    }
    let what = "\(Self.atOnce) transfers at once"
    for (transfer, _) in transfers { try bench.finish(transfer, what) }
    for (transfer, file) in transfers {
      if let problem = try problem(of: transfer, file, "beside \(Self.atOnce - 1) others") { return problem }
    }
    return .passed
  }

  func limit() throws -> Check.Result {
    let known: [(link: String, file: TransferFile)]
    switch try fetched() {
    case .success(let list): known = list
    case .failure(let skip): return .skipped(skip.why)
    }
    guard let (link, file) = known.filter({ $0.file.size > 1 }).min(by: { $0.file.size < $1.file.size })
    else {
      return .skipped("what the links yield has no more than a byte")
    }
    let size = file.size
    for limit in [size / 2, size - 1] {
      let transfer = try sourceBench(limit: limit).give(
        link, self, what: "\(Count.text(size, "byte")) where \(limit) are allowed")
      switch transfer.result?.verdict {
      case .reject?, .fail?: continue
      case .pass?, .retry?, nil:
        return .failed(
          "\(Count.text(size, "byte")) where \(limit) are allowed: \(transfer.isPassed ? "it passes" : transfer.summary)",
          remedy: "reject what has more than `limit`: another attempt would find the same")
      }
    }
    let exact = try sourceBench(limit: size).give(link, self, what: "as many bytes as are allowed")
    return try problem(of: exact, file, "with as many bytes as are allowed") ?? .passed
  }
}

extension SourceBench {
  /// Takes a transfer to its end.
  func give(
    _ link: String, _ conformance: Conformance, to file: TransferFile? = nil,
    from earlier: TriedTransfer? = nil,
    what: String? = nil
  ) throws -> TriedTransfer {
    let transfer = try give(link, to: file, from: earlier)
    try finish(transfer, what ?? conformance.name(link))
    return transfer
  }
}
