import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

// The check of a stage that works on many attachments at once.
extension Conformance {
  /// As many as a pipeline gives one worker.
  private static let atOnce = Int(SLUICE_MOST_CANCELLED)

  func together() throws -> Check.Result {
    guard takesContent else { return .skipped("it gets no content") }
    let trials = try Specimens.contents(Self.atOnce).map { try trial(try Content(bytes: $0)) }
    let alone = try bench()
    let expected = try trials.enumerated().map { try alone.run($1, "attachment \($0 + 1), by itself") }
    let said = try bench(patient).runTogether(trials, "\(Self.atOnce) attachments at once")
    if let (number, difference) = Self.difference(expected, said) {
      return .failed(
        "of \(Self.atOnce) attachments at once, number \(number) has another result than by itself: \(difference)",
        remedy: "keep what belongs to an attachment with its call, and settle each with its own result")
    }
    if !stage.description.flushes { return .passed }
    // A worker with two of it calls no `turn`.
    let older = try bench(patient) { $0.instances = 2 }
    let flushed = try trials.enumerated().map {
      try older.run($1, "attachment \($0 + 1), on a host that knows no `turn`")
    }
    if let (number, difference) = Self.difference(expected, flushed) {
      return .failed(
        "on a host that calls `flush` and no `turn`, attachment \(number) has another result: \(difference)",
        remedy: "let `flush` settle all that is under way, and return any verdict but pass from `process`")
    }
    return .passed
  }

  /// The first that differs, counted from 1, and how.
  private static func difference(
    _ expected: [TrialResult], _ said: [TrialResult]
  ) -> (number: Int, difference: String)? {
    for (place, (one, other)) in zip(expected, said).enumerated() {
      // Answers of a network service vary in their wording.
      var other = other
      (other.message, other.metadata) = (one.message, one.metadata)
      if let difference = difference(one, other) { return (place + 1, difference) }
    }
    return nil
  }
}

extension Bench {
  /// Runs trials at once. Fewer results than trials: the worker ended, as said.
  func runTogether(_ trials: [Trial]) throws -> (results: [TrialResult], death: WorkerDeath?) {
    var works: [(work: Work, descriptors: [Int32])] = []
    var outputs: [SharedDescriptor] = []
    for trial in trials {
      var (work, descriptors) = (trial.work, [Int32]())
      if let content = trial.content {
        (work.file, work.sha256) = (content.file, try measure(content))
        descriptors.append(content.descriptor.number)
        if runner.stage.description.produces {
          let output = SharedDescriptor(try Content.memory())
          outputs.append(output)
          descriptors.append(output.number)
        }
      }
      works.append((work, descriptors))
    }
    let (answers, death) = try runner.runTogether(works)
    var results: [TrialResult] = []
    for (place, (answer, trial)) in zip(answers, trials).enumerated() {
      guard let answer else { continue }
      var result = self.result(answer, trial)
      // The calls of all of them: they belong to no single one.
      if !results.isEmpty { result.trace = [] }
      if answer.report.produced, outputs.indices.contains(place) {
        let content = try Content(
          Descriptor(owning: fcntl(outputs[place].number, F_DUPFD_CLOEXEC, 0)))
        result.produced = .init(content: content, sha256: try measure(content))
      }
      results.append(result)
    }
    return (results, death)
  }
}
