import CPlatform
import Glibc
import Pipeline
import Platform
import Wire
import Workers

/// Takes files through a stage, with what the pipeline would have told it of each.
final class StageTrials {
  let runner: StageRunner
  /// Measures the content first, as in a pipeline.
  private let digest: StageRunner
  private let mediaType: String?
  private let declaredType: String?
  private var ids = UUIDv7Generator()

  init(runner: StageRunner, digest: StageRunner, mediaType: String?, declaredType: String?) {
    self.runner = runner
    self.digest = digest
    self.mediaType = mediaType
    self.declaredType = declaredType
  }

  func run(_ file: String) throws -> StageTrial {
    var trial = StageTrial(stage: runner.stage.id, file: file, verdict: "", mediaType: mediaType)
    do {
      let input = try StageInput(file)
      var work = work(file, input)
      if runner.stage.id != digest.stage.id {
        switch try digest.run(work, descriptors: [input.descriptor.number]) {
        case .answered(let said, let result) where said.verdict == .pass:
          work.sha256 = result.metadata.first { $0.key == "sha256" }?.value.text
        case .answered(let said, _): return take(said, &trial)
        case .died(let death): return take(death, digest.stage, &trial)
        }
      }
      try run(work, input.descriptor.number, &trial)
    } catch let problem as StageInput.Problem {
      trial.verdict = Verdict.fail.name
      trial.code = problem.code
      trial.message = problem.message
    }
    return trial
  }

  private func run(_ work: Work, _ content: Int32, _ trial: inout StageTrial) throws {
    var descriptors = [content]
    let output = runner.stage.description.produces ? sluice_memfd("sluice-content", 1) : -1
    if output >= 0 { descriptors.append(output) }
    defer { if output >= 0 { close(output) } }
    // A worker that has to be started first does not count.
    try runner.start()
    let start = Clock.monotonic()
    switch try runner.run(work, descriptors: descriptors) {
    case .answered(let said, let result):
      trial = take(said, &trial)
      trial.mediaType = result.mediaType ?? mediaType
      trial.metadata = result.metadata
      trial.location = result.location
      var facts = stat()
      if result.produced && fstat(output, &facts) == 0 { trial.producedBytes = Int64(facts.st_size) }
    case .died(let death):
      trial = take(death, runner.stage, &trial)
      trial.milliseconds = Double((Clock.monotonic() - start) / 1000) / 1000
    }
  }

  private func take(_ said: WorkResult.Stage, _ trial: inout StageTrial) -> StageTrial {
    trial.verdict = said.verdict.name
    trial.code = said.code
    trial.message = said.message
    trial.milliseconds = Double(said.microseconds) / 1000
    return trial
  }

  private func take(_ death: WorkerDeath, _ stage: StageDefinition, _ trial: inout StageTrial) -> StageTrial {
    trial.verdict = death.verdict
    trial.code = death.code
    trial.message = death.message(in: stage)
    return trial
  }

  /// Each file is a message of its own, as in an ingest.
  private func work(_ file: String, _ input: borrowing StageInput) -> Work {
    let name = file.split(separator: "/").last.map(String.init) ?? file
    return Work(
      serial: 0, first: 0, end: 0, attempt: 1, id: ids.next(), conversationId: "default",
      messageId: ids.next(),
      senderId: "operator", fileName: name, declaredType: declaredType, mediaType: mediaType,
      size: input.size,
      modified: input.modified, changed: input.changed)
  }
}
