"""What those ask who look after a job: what its state weighs, what a key has, what is retained."""
