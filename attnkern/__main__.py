from attnkern.cli import main

main()
