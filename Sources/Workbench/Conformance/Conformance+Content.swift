import Glibc
import Pipeline
import Platform
import Wire
import Workers

// Checks of a stage's handling of content.
extension Conformance {
  func empty() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    return try verdict(try bench(), try trial(try Content(bytes: [])), "content of 0 bytes")
  }

  func huge() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    if stage.description.capability == .store { return .skipped("it would be copied: 4 GiB") }
    var trial = try trial(try Content(zeros: 4 << 30 + 1))
    trial.work.sha256 = Self.someHash
    let result = try bench().run(trial)
    if case .outOfMemory? = result.death?.cause {
      return .noted(
        "it holds all content in memory: `memory` decides what it can take, `on-limit` what becomes of the rest"
      )
    }
    return Self.checked(result, "4 GiB of zeros", stage)
  }

  /// A hash for content that would take too long to measure.
  private static let someHash = String(repeating: "0", count: 64)

  func names() throws -> Check.Result {
    let trier = try bench()
    for name in Specimens.hostileNames {
      var trial = try trial(try Content(bytes: Array("hello\n".utf8)), fileName: name)
      trial.work.origin.declaredType = name
      trial.work.origin.senderId = name
      trial.work.recipientIsHostile(name)
      let result = try verdict(trier, trial, "a file named '\(name)'")
      guard case .passed = result else { return result }
    }
    return .passed
  }

  func broken() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    let trier = try bench()
    for bytes in Specimens.contents(400) {
      var trial = try trial(try Content(bytes: bytes))
      // Most stages do nothing for a type they do not know.
      for type in [nil, "application/pdf", "image/png", "text/plain"] {
        trial.work.mediaType = type
        let result = try verdict(
          trier, trial, "\(Count.text(bytes.count, "byte")) as \(type ?? "an unknown type")")
        guard case .passed = result else { return result }
      }
    }
    for content in specimens {
      let result = try verdict(trier, trial(content), "a specimen of \(Count.text(content.size, "byte"))")
      guard case .passed = result else { return result }
    }
    return .passed
  }

  /// Accepts every verdict that the contract defines.
  private func verdict(_ trier: Trier, _ trial: Trial, _ what: String) throws -> Check.Result {
    Self.checked(try trier.run(trial), what, stage)
  }

  private static func checked(_ result: TrialResult, _ what: String, _ stage: StageDefinition) -> Check.Result
  {
    guard let death = result.death else { return .passed }
    let remedy =
      switch death.cause {
      case .timedOut: "bound the work by the content's size, or by an option"
      case .outOfMemory: "read in pieces: `memory` bounds what may be held"
      case .outputLimit: "bound what is produced"
      case .forbiddenCall:
        "load files in `open`, declare `network` or `store` where it needs them, and start no process"
      case .crashed, .exited: "run it with `sluice stages run --under gdb`"
      case .flooded: "log less"
      case .tooManyThreads: "start fewer threads"
      case .invalidReply: "call the host only during a call, on its thread"
      }
    return .failed("\(what): \(death.message(in: stage))", remedy: remedy)
  }

  // MARK: Twice

  /// The samples for comparing, each as a PDF, an image, a text and unknown.
  private func samples() throws -> [Trial] {
    guard takesContent else { return [trial(standardOutput)] }
    var trials: [Trial] = []
    for bytes in Specimens.contents(16) {
      for type in [nil, "application/pdf", "image/png", "text/plain"] {
        var trial = try trial(try Content(bytes: bytes))
        trial.work.mediaType = type
        trials.append(trial)
      }
    }
    return trials + specimens.map { trial($0) }
  }

  func deterministic() throws -> Check.Result {
    if stage.description.capability == .network { return .skipped("its results are those of the network") }
    let first = try bench()
    let second = try bench()
    for trial in try samples() {
      if let difference = Self.difference(try first.run(trial), try second.run(trial)) {
        return .failed(
          "the same \(Count.text(trial.content?.size ?? 0, "byte")): \(difference)",
          remedy: "let results depend on content, options and metadata only: results are kept by content")
      }
    }
    return .passed
  }

  func instances() throws -> Check.Result {
    if stage.description.role != .line || stage.description.capability != .content {
      return .skipped("a pipeline has one in a worker")
    }
    let alone = try bench()
    let both = try bench { $0.instances = 2 }
    for trial in try samples() {
      let expected = try alone.run(trial)
      for instance in 0..<2 {
        if let difference = Self.difference(expected, try both.run(trial, instance: instance)) {
          return .failed(
            "beside another, instance \(instance + 1) says otherwise: \(difference)",
            remedy: "keep state in the instance, not in globals")
        }
      }
    }
    return .passed
  }

  private static func difference(_ first: TrialResult, _ second: TrialResult) -> String? {
    func differ<Value: Equatable>(_ what: String, _ value: (TrialResult) -> Value) -> String? {
      value(first) == value(second) ? nil : "\(what) \(value(first)), then \(value(second))"
    }
    return differ("verdict") { $0.verdict } ?? differ("code") { $0.code ?? "none" }
      ?? differ("message") { $0.message ?? "none" } ?? differ("media type") { $0.mediaType ?? "none" }
      ?? differ("metadata") { $0.metadata.map { "\($0.key)=\($0.value.text)" } }
      ?? differ("events") { $0.emissions.map(\.type) } ?? differ("location") { $0.location ?? "none" }
      ?? differ("new content") { $0.produced?.sha256 ?? "none" }
  }

  // MARK: Time after time

  /// Kills the worker shortly after its work began, as on cancellation or a timeout.
  func cancel() throws -> Check.Result {
    let content = try takesContent ? Content(zeros: 256 << 20) : standardOutput
    var trial = trial(content)
    trial.work.sha256 = Self.someHash
    let expected = try bench().run(trial)
    var hurried = stage
    hurried.timeout = 1
    let killed = try bench(hurried)
    _ = try killed.run(trial)
    if let left = killed.folder?.files.first(where: { !$0.hasPrefix(".incoming/") }),
      stage.description.capability == .store
    {
      return .failed(
        "killed, it leaves \(left)", remedy: "leave an object as .incoming/ and the attachment's id, synced")
    }
    var again = trial
    again.work.attempt = 2
    var second = try bench().run(again)
    // Answers of a network service vary in their wording.
    if stage.description.capability == .network {
      (second.message, second.metadata) = (expected.message, expected.metadata)
    }
    return Self.difference(expected, second).map {
      .failed(
        "after an attempt that was killed: \($0)", remedy: "let a second attempt find what the first left")
    } ?? .passed
  }

  func growth() throws -> Check.Result {
    let trier = try bench()
    let samples = try samples()
    var before: (memory: Int, descriptors: Int)?
    for round in 0..<400 {
      if round == 100 { before = trier.pid.flatMap { Self.heldAtRest($0) } }
      let result = try trier.run(samples[round % samples.count])
      if result.death != nil { return .skipped("its worker ends on the way: \(result.message ?? "")") }
    }
    guard let before, let after = trier.pid.flatMap({ Self.heldAtRest($0) }) else {
      return .skipped("proc(5) does not tell what the worker holds")
    }
    if after.descriptors > before.descriptors {
      return .failed(
        "\(Count.text(after.descriptors - before.descriptors, "descriptor")) more",
        remedy: "close what `process` opens")
    }
    // In pages. An allocator's use varies by a few pages.
    let grown = (after.memory - before.memory) * Int(sysconf(Int32(_SC_PAGESIZE)))
    return grown <= 2 << 20
      ? .passed
      : .failed(
        "\(ByteSize.rounded(Int64(grown))) more",
        remedy: "free what `process` allocates; see --under valgrind")
  }

  /// The memory and descriptors of an idle worker. A worker frees content shortly after its answer, and later
  /// than that on a busy machine, so that the lowest of several samples counts.
  private static func heldAtRest(_ pid: pid_t) -> (memory: Int, descriptors: Int)? {
    var least = held(pid)
    for _ in 0..<20 {
      usleep(10_000)
      if let now = held(pid), now.descriptors < least?.descriptors ?? .max { least = now }
    }
    return least
  }

  private static func held(_ pid: pid_t) -> (memory: Int, descriptors: Int)? {
    guard let statm = ProcessFacts.text("/proc/\(pid)/statm"),
      let descriptors = ProcessFacts.count("/proc/\(pid)/fd")
    else { return nil }
    let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    return pages.map { ($0, descriptors) }
  }

  // MARK: In all of the above

  func sandbox() -> Check.Result {
    forbidden.first.map {
      .failed(
        $0,
        remedy: "load libraries, tables and files in `open`; declare `store` or `network` if it needs them")
    } ?? .passed
  }

  func declared() -> Check.Result {
    if complaints.isEmpty { return .passed }
    return .failed(
      complaints.prefix(5).joined(separator: "\n"),
      remedy: "list every key and code in the description, and explain every verdict but pass")
  }

  func silent() -> Check.Result {
    var facts = stat()
    guard fstat(standardOutput.descriptor.number, &facts) == 0 else { return .skipped("it cannot be read") }
    return facts.st_size == 0
      ? .passed
      : .failed(
        "\(Count.text(facts.st_size, "byte")) \(facts.st_size == 1 ? "was" : "were") written",
        remedy: "log through the host, or to standard error")
  }
}

extension Work {
  /// An event's recipient is as hostile as any name.
  fileprivate mutating func recipientIsHostile(_ name: String) {
    event?.recipient = name
  }
}
