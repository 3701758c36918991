import Foundation
import Testing

/// A kernel without a part of the sandbox, simulated by a preloaded library: `Tests/Fixtures/Preload`.
struct OldKernelTests {
  struct Kernel: Sendable, CustomTestStringConvertible {
    /// The missing part, as the library takes it.
    var lacks: String
    /// The parts that `doctor` reports as not in force.
    var missing: [String]
    /// Whether `sandbox: require` refuses.
    var isRefused: Bool
    var testDescription: String { lacks }
  }

  static let kernels = [
    Kernel(
      lacks: "landlock", missing: ["Landlock files", "Landlock TCP", "Landlock scope"], isRefused: true),
    Kernel(lacks: "seccomp", missing: ["seccomp"], isRefused: true),
    Kernel(lacks: "landlock-above-1", missing: ["Landlock TCP", "Landlock scope"], isRefused: false),
    Kernel(lacks: "landlock-above-3", missing: ["Landlock TCP", "Landlock scope"], isRefused: false),
    Kernel(lacks: "landlock-above-5", missing: ["Landlock scope"], isRefused: false),
  ]

  @Test(arguments: kernels)
  func theDoctorNamesWhatIsMissing(kernel: Kernel) throws {
    let outcome = try run(["doctor", "--format", "json"], on: kernel, in: TemporaryFolder())
    let doctor = try outcome.only(Printed.Doctor.self)
    let missing = doctor.parts.filter { !$0.inForce }.map(\.name)
    #expect(Set(missing).isSuperset(of: kernel.missing), "\(missing)")
    let offered = doctor.parts.filter(\.offered).map(\.name)
    #expect(Set(offered).isDisjoint(with: kernel.missing))
    if kernel.isRefused {
      #expect(outcome.status == 1)
      let lack = "the sandbox lacks \(kernel.missing[0]): needs "
      #expect(doctor.problems.contains { $0.hasPrefix(lack) }, "\(doctor.problems)")
    }
  }

  @Test(arguments: kernels, ["require", "prefer", "off"])
  func thePipelineSaysWhetherToRunWithoutIt(kernel: Kernel, policy: String) throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write(
      "pipeline.yaml",
      """
      version: 1
      stages:
        - use: size
          options: { max: 1MB }
        - use: store
          options: { path: "{attachmentId}" }
      sandbox: \(policy)
      """)
    let outcome = try run(["ingest", "--home", "home", "in"], on: kernel, in: folder)
    if policy == "require" && kernel.isRefused {
      #expect(outcome.status == 78)
      #expect(outcome.err.contains("the kernel lacks a part of the sandbox (`sluice doctor` names it)"))
      #expect(folder.files(below: "home/store") == [])
      return
    }
    #expect(outcome.status == 0, "\(outcome.err)")
    #expect(folder.files(below: "home/store").count == 1)
    let said = outcome.err.contains("ran without \(kernel.missing[0])")
    #expect(said == (policy == "prefer" && kernel.isRefused), "\(outcome.err)")
  }

  /// With the remaining parts, files are still protected.
  @Test(arguments: kernels.filter { !$0.isRefused })
  func anOlderLandlockHoldsFiles(kernel: Kernel) throws {
    let folder = try TemporaryFolder()
    let secret = try folder.write("secret", "secret\n")
    let scene = try folder.write("scene", "act openat\nworld \(folder.path)\n")
    let plugins = ["SLUICE_PLUGIN_PATH": try FixtureStages.folder()]
    for stage in ["escape-store", "escape-network"] {
      let outcome = try run(
        ["stages", "run", stage, "--format", "json", scene], on: kernel, in: folder, environment: plugins)
      #expect(try outcome.only(Printed.StageRun.self).code == "refused", "\(outcome.out) \(outcome.err)")
    }
    #expect(FileManager.default.fileExists(atPath: secret))
  }

  /// Lustre, NFS without its lock daemon, and some FUSE file systems.
  @Test(arguments: [ENOSYS, ENOLCK, EOPNOTSUPP])
  func aFileSystemWithoutLocksIsNamed(error: Int32) throws {
    let folder = try TemporaryFolder()
    try folder.write("in/a", "a text\n")
    try folder.write("pipeline.yaml", Pipelines.open)
    let kernel = Kernel(lacks: "flock-\(error)", missing: [], isRefused: true)
    let outcome = try run(["ingest", "--home", "home", "in"], on: kernel, in: folder)
    #expect(outcome.status == 78, "\(outcome.err)")
    let reason = String(cString: strerror(error))
    #expect(outcome.err.contains("locking home/sluice.lock: \(reason); "), "\(outcome.err)")
    #expect(!outcome.err.contains("in use"), "\(outcome.err)")
  }

  private func run(
    _ arguments: [String], on kernel: Kernel, in folder: TemporaryFolder, environment: [String: String] = [:]
  ) throws -> SluiceCommand.Outcome {
    try SluiceCommand.run(
      arguments, in: folder,
      environment: ["LD_PRELOAD": try Self.library.get(), "LACKS": kernel.lacks].merging(environment) { $1 })
  }

  /// As before Docker 20.10: what its filter does not know fails with EPERM, and not as if the kernel lacked it.
  @Test func anOldContainerStoresAndEnds() throws {
    let folder = try TemporaryFolder()
    try folder.write("pipeline.yaml", Pipelines.storing())
    try folder.write("in/a.txt", "a\n")
    let outcome = try SluiceCommand.run(
      ["ingest", "--home", "home", "in"], in: folder,
      environment: ["LD_PRELOAD": try Self.compiled("old-container").get()])
    #expect(outcome.status == 0 && outcome.out.contains("1 completed"), "\(outcome.out)\(outcome.err)")
  }

  static let library = compiled("old-kernel")

  private static func compiled(_ name: String) -> Result<String, any Error> {
    Result {
      let file = try FixtureStages.folder() + "/\(name).so"
      let source = SluiceCommand.projectFolder + "/Tests/Fixtures/Preload/\(name).c"
      if try FixtureStages.run(FixtureStages.compiler, ["-shared", "-fPIC", "-O1", source, "-o", file]) != 0 {
        throw FixtureStages.DoesNotCompile(name: name)
      }
      return file
    }
  }
}
