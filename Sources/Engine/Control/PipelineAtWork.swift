import Glibc
import Pipeline
import Platform
import Workers

/// What a coordinator says of the pipeline that it works with.
public struct PipelineAtWork: Sendable, Equatable {
  /// The file's path, absolute where the file is known to the file system.
  public var file: String
  /// Equal for pipelines that decide and tell alike.
  public var fingerprint: String
  /// The coordinator's process.
  public var process: Int32
  /// It works until it is told to stop, and reads its pipeline again on SIGHUP.
  public var isResident: Bool

  public init(file: String, fingerprint: String, process: Int32, isResident: Bool) {
    (self.file, self.fingerprint, self.process, self.isResident) = (file, fingerprint, process, isResident)
  }

  /// The SHA-256 of what decides how attachments end, and what is told of them: stages with their plugins and options, channels,
  /// retries. The plugins' files count as they are now, since that is what the next worker loads.
  public static func fingerprint(of pipeline: PipelineDefinition) throws(SystemError) -> String {
    var values = HashedValues()
    values.add(
      "\(pipeline.retry) \(pipeline.reuse) \(pipeline.sandbox) \(pipeline.downloads != nil) \(pipeline.expand)"
    )
    for stage in pipeline.stages { add(stage, to: &values) }
    for channel in pipeline.channels {
      values.add(channel.name)
      values.add("\(channel.schedule)")
      add(channel.stage, to: &values)
    }
    return Hexadecimal.text(try SHA256().digest(of: values))
  }

  private static func add(_ stage: StageDefinition, to values: inout HashedValues) {
    for text in [
      stage.id, stage.description.id, stage.description.version,
      FileIdentity.hash(of: stage.description.file),
      "\(stage.timeout) \(stage.memory) \(stage.output)",
      "\(stage.isolation) \(stage.onTimeout) \(stage.onLimit) \(stage.onCrash)",
      stage.conditions.map(\.description).joined(separator: " "), "\(stage.values.count)",
    ] {
      values.add(text)
    }
    for value in stage.values {
      values.add(value.name)
      values.add(value.key ?? "")
      values.add(value.text)
    }
  }
}

/// The pipeline that this coordinator works with, as its clients are told.
struct PipelineInUse {
  private let definition: PipelineDefinition
  private let file: String
  private let isResident: Bool
  /// The plugins and programs as they were when it was opened.
  private let files: [String: FileStamp]
  private var known: (fingerprint: String, at: UInt64)?

  /// Nanoseconds for which a fingerprint holds: to make one reads the files of all plugins.
  private static let validity: UInt64 = 500_000_000

  init(_ definition: PipelineDefinition, file: String, isResident: Bool) {
    (self.definition, self.file, self.isResident) = (definition, file, isResident)
    files = Self.files(definition)
  }

  private static func files(_ pipeline: PipelineDefinition) -> [String: FileStamp] {
    (pipeline.stages + pipeline.channels.map(\.stage)).reduce(into: [:]) {
      $0.merge(ProgramFile.files(of: $1.description)) { $1 }
    }
  }

  /// - Parameter now: in nanoseconds of the monotonic clock.
  mutating func told(at now: UInt64) throws(SystemError) -> PipelineAtWork {
    var fingerprint = known.flatMap { now < $0.at + Self.validity ? $0.fingerprint : nil }
    if fingerprint == nil {
      // Workers that have loaded a file that was replaced since go on with the old one: that is no client's pipeline.
      let isAsOpened = Self.files(definition) == files
      fingerprint = isAsOpened ? try PipelineAtWork.fingerprint(of: definition) : "changed"
      known = fingerprint.map { ($0, now) }
    }
    return PipelineAtWork(
      file: file, fingerprint: fingerprint ?? "", process: getpid(), isResident: isResident)
  }
}
