import Glibc
import Platform

// Measures Sluice and programs it is compared with, and prints one table.

func bench() throws -> Int32 {
  // Runs for --check, started by the bench itself under valgrind.
  if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "--probe",
    let count = Int(CommandLine.arguments[2])
  {
    try Check.probe(count)
    return 0
  }
  let settings: Settings
  do {
    settings = try Settings(Array(CommandLine.arguments.dropFirst()))
  } catch {
    progress("\(error)\n\n\(Settings.usage)")
    return 2
  }
  try Sluice.check()
  try Files.makeFolder(Ground.path)
  if settings.isCheck { return try Check.run(update: settings.isUpdate) }

  try Namespace.enter()
  let grounds = try Grounds(settings.disks, isQuick: settings.isQuick)
  let report = Report()
  for group in RowGroup.all where settings.only.isEmpty || settings.only.contains(group.name) {
    for ground in group.grounds(grounds.all) {
      report.disk = ground.disk
      group.run(settings, ground, report)
      try ground.emptyStores()
    }
  }
  try grounds.delete()

  let table = Table(rows: report.rows, disks: grounds.all.map(\.disk), notes: grounds.notes)
  let text = settings.isJSON ? table.json : table.text
  if let output = settings.output {
    try Files.write(text, to: output)
  } else {
    print(text, terminator: "")
  }
  return report.rows.contains { $0.isReached == false } ? 1 : 0
}

do {
  exit(try bench())
} catch {
  progress("\(error)")
  exit(1)
}
