from slicebase.cli.main import main

main()
