from slicebase.cli.entry import main

main()
