import Glibc
import Pipeline
import Platform
import Wire
import Workers

// Checks of a stage's handling of content.
extension Conformance {
  func empty() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    let what = "content of 0 bytes"
    let result = try bench().run(try trial(try Content(bytes: [])), what)
    // A service that cannot be reached passes. Content that is there stays as it is.
    if result.verdict == Verdict.retry.name && stage.description.capability != .network {
      return .failed(
        "\(what) is to be tried again: \(result.code ?? ""): \(result.message ?? "")",
        remedy:
          "reject or fail what is empty: it is the same at the next attempt, and retry is for faults that pass"
      )
    }
    return .passed
  }

  func huge() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    if stage.description.capability == .store { return .skipped("it would be copied: 4 GiB") }
    var trial = try trial(try Content(zeros: 4 << 30 + 1))
    trial.work.sha256 = Self.someHash
    let result = try bench(patient).attempt(trial)
    guard let death = result.death else {
      // A machine that is busy takes longer, too.
      return result.microseconds <= stage.timeout * 1000
        ? .passed
        : .noted(
          "it takes \(Interval.text(result.microseconds / 1000)), and `timeout` is \(Interval.text(stage.timeout))"
        )
    }
    if case .outOfMemory = death.cause {
      return .noted(
        "it holds all content in memory: `memory` decides what it can take, `on-limit` what becomes of the rest"
      )
    }
    throw UnexpectedEnd(death: death, what: "4 GiB of zeros")
  }

  /// The stage with more time, where something other than its speed is looked at: the machine may be busy.
  var patient: StageDefinition {
    var patient = stage
    patient.timeout *= 5
    return patient
  }

  /// A hash for content that would take too long to measure.
  private static let someHash = String(repeating: "0", count: 64)

  func names() throws -> Check.Result {
    let trier = try bench()
    for name in Specimens.hostileNames {
      var trial = try trial(try Content(bytes: Array("hello\n".utf8)), fileName: name)
      trial.work.origin = trial.work.origin.replacing(senderId: name, declaredType: name)
      trial.work.recipientIsHostile(name)
      _ = try trier.run(trial, "a file named '\(name)'")
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
        _ = try trier.run(trial, "\(Count.text(bytes.count, "byte")) as \(type ?? "an unknown type")")
      }
    }
    for content in specimens {
      _ = try trier.run(trial(content), "a specimen of \(Count.text(content.size, "byte"))")
    }
    return .passed
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
      let what = "the same \(Count.text(trial.content?.size ?? 0, "byte"))"
      if let difference = Self.difference(try first.run(trial, what), try second.run(trial, what)) {
        return .failed(
          "\(what): \(difference)",
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
      let what = Count.text(trial.content?.size ?? 0, "byte")
      let expected = try alone.run(trial, what)
      for instance in 0..<2 {
        let said = try both.run(trial, "\(what), beside another instance", instance: instance)
        if let difference = Self.difference(expected, said) {
          return .failed(
            "beside another, instance \(instance + 1) says otherwise: \(difference)",
            remedy: isProgram
              ? "let its answers depend on what it is told only"
              : "keep state in the instance, not in globals")
        }
      }
    }
    return .passed
  }

  static func difference(_ first: TrialResult, _ second: TrialResult) -> String? {
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
    let expected = try bench(patient).attempt(trial)
    if let death = expected.death {
      if case .outOfMemory = death.cause { return .skipped("it cannot take 256 MiB within its memory") }
      throw UnexpectedEnd(death: death, what: "256 MiB of zeros")
    }
    var hurried = stage
    hurried.timeout = 1
    let killed = try bench(hurried)
    _ = try killed.attempt(trial)
    if let left = killed.folder?.files.first(where: { !$0.hasPrefix(".incoming/") }),
      stage.description.capability == .store
    {
      return .failed(
        "killed, it leaves \(left)",
        remedy: "leave an object as .incoming/ and the attachment's `staged_name`, synced")
    }
    var again = trial
    again.work.attempt = 2
    var second = try bench(patient).run(again, "the attempt after one that was killed")
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
      _ = try trier.run(samples[round % samples.count], "attachment \(round + 1) of one worker")
    }
    if isProgram { return .passed }
    guard let before, let after = trier.pid.flatMap({ Self.heldAtRest($0) }) else {
      return .skipped("proc(5) does not tell what the worker holds")
    }
    return Self.growth(from: before, to: after, "`process`")
  }

  /// What a worker holds more after three hundred pieces of work.
  ///
  /// - Parameter call: where it was to be given back.
  static func growth(
    from before: (memory: Int, descriptors: Int), to after: (memory: Int, descriptors: Int), _ call: String
  ) -> Check.Result {
    if after.descriptors > before.descriptors {
      return .failed(
        "\(Count.text(after.descriptors - before.descriptors, "descriptor")) more",
        remedy: "close what is opened in \(call)")
    }
    // In pages. An allocator's use varies by a few pages.
    let grown = (after.memory - before.memory) * Int(sysconf(Int32(_SC_PAGESIZE)))
    return grown <= 2 << 20
      ? .passed
      : .failed(
        "\(ByteSize.rounded(Int64(grown))) more",
        remedy: "free what is allocated in \(call); see --under valgrind")
  }

  /// The memory and descriptors of an idle worker. A worker frees content shortly after its answer, and later
  /// than that on a busy machine, so that the lowest of several samples counts.
  static func heldAtRest(_ pid: pid_t) -> (memory: Int, descriptors: Int)? {
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
}

extension Work {
  /// An event's recipient is as hostile as any name.
  fileprivate mutating func recipientIsHostile(_ name: String) {
    event?.recipient = name
  }
}
