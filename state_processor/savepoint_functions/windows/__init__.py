"""Windows over keyed rows, as the window operators of Flink have them."""
