/// Records of the commands for those who write stages and pipelines.
extension Printed {
  /// What a stage did with a file, as `stages run` prints it.
  struct StageRun: Record {
    static let kind = "stage"
    var file: String
    var verdict: String
    @OrNull var code: String?
    @OrNull var message: String?
    @OrNull var mediaType: String?
    var metadata: [String: Value]
    @OrNull var location: String?
    /// Of the new content.
    @OrNull var producedSha256: String?
    /// Objects beside the content; `nil`: none.
    var derived: [Piece]?
    /// Contents that were inside; `nil`: none.
    var children: [Piece]?
    /// With `--trace`.
    var trace: [Call]?
    /// With `--repeat`.
    var profile: Profile?

    struct Piece: Decodable, Hashable {
      var name: String
      var sizeBytes: Int
      var sha256: String
    }

    struct Call: Decodable {
      var call: String
      var text: String
    }

    struct Profile: Decodable {
      var count: Int
      var medianMilliseconds: Double
      var p99Milliseconds: Double
      var longestMilliseconds: Double
      var peakBytes: Int
    }
  }

  /// A line of `stages list`.
  struct Plugin: Record {
    static let kind = "plugin"
    var id: String
    @OrNull var version: String?
    @OrNull var capability: String?
    @OrNull var role: String?
    @OrNull var problem: String?
  }

  /// What `stages inspect` tells of a plugin.
  struct Inspection: Record {
    static let kind = "plugin"
    var file: String
    var stageABI: String
    @OrNull var sha256: String?
    var compilers: [String]
    var libraries: [String]
    var options: [Term]
    var codes: [Term]

    struct Term: Decodable {
      var name: String
    }
  }

  /// What `stages doctor` tells of a plugin.
  struct Diagnosis: Record {
    static let kind = "plugin"
    @OrNull var problem: String?
    @OrNull var remedy: String?
  }

  /// One of the checks of `stages check`.
  struct Check: Record {
    static let kind = "check"
    var name: String
    var claim: String
    var result: String
    var message: String?
    var remedy: String?
  }

  /// A case of `sluice test`.
  struct Case: Record {
    static let kind = "case"
    var file: String
    var name: String
    var ok: Bool
    var mismatches: [Mismatch]

    struct Mismatch: Decodable {
      var key: String
      var line: Int
      var expected: String
      var found: String
    }
  }

  /// The end of `sluice test`.
  struct CaseSummary: Record {
    static let kind = "summary"
    var cases: Int
    var failures: Int
  }

  /// A mistake that `lint` found.
  struct Diagnostic: Record {
    static let kind = "diagnostic"
    var line: Int
    var column: Int
  }

  struct Version: Record {
    static let kind = "version"
    var stageABI: String
  }

  struct Doctor: Record {
    static let kind = "doctor"
    var sandbox: String
    var parts: [Part]
    var problems: [String]

    /// Of the sandbox.
    struct Part: Decodable {
      var name: String
      var gives: String
      var required: Bool
      var offered: Bool
      var inForce: Bool
    }
  }
}
